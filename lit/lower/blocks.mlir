// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f "A:BSR(2, 3)" | FileCheck %s

// Only the encoding has blocks: maps and payload are those of any other matrix.

// CHECK-DAG: #[[MATRIX:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[BSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 floordiv 2 : dense, d1 floordiv 3 : compressed, d0 mod 2 : dense, d1 mod 3 : dense) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?x?xf64, #[[BSR]]>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[MATRIX]],
