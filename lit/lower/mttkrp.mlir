// RUN: mlir-sparse emit "Y(i,r) = T(i,j,k) * B(j,r) * C(k,r)" -f T:CSF | FileCheck %s

// One generic has the two factors and the tensor; the rank r is innermost.

// CHECK-DAG: #[[TENSOR:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[SECOND:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-DAG: #[[THIRD:.+]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[TENSOR]], #[[SECOND]], #[[THIRD]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction", "reduction", "parallel"]
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
