// RUN: mlir-sparse emit "Y(i,j,r) = T(i,j,k) * M(k,r)" -f T:CSF | FileCheck %s

// CHECK-DAG: #[[TENSOR:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[MATRIX:.+]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[TENSOR]], #[[MATRIX]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction", "parallel"]
// CHECK-NOT: linalg.generic
