// RUN: mlir-sparse emit "Y(i,j) = T(i,j,k) * v(k)" -f T:CSF -f Y:DCSR | FileCheck %s

// The fibers of T that end in a vector become entries of Y.

// CHECK-DAG: #[[TENSOR:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[VECTOR:.+]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[CSF:.+]] = #sparse_tensor.encoding<{ map = (d0, d1, d2) -> (d0 : compressed, d1 : compressed, d2 : compressed) }>
// CHECK-DAG: #[[DCSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?x?x?xf64, #[[CSF]]>
// CHECK-SAME: -> tensor<?x?xf64, #[[DCSR]]>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[TENSOR]], #[[VECTOR]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
