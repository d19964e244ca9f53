// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR | FileCheck %s

// Gustavson's order i, k, j: rows of B are scattered into one row of C, whose extents come from A and B.

// CHECK-DAG: #[[LEFT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[RIGHT:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: tensor<?x?xf64, #[[CSR]]>,
// CHECK-SAME: %[[B:[a-z0-9_]+]]: tensor<?x?xf64, #[[CSR]]>) -> tensor<?x?xf64, #[[CSR]]>
// CHECK-DAG: %[[ROWS:[a-z0-9_]+]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[COLUMNS:[a-z0-9_]+]] = tensor.dim %[[B]], %c1
// CHECK: %[[EMPTY:[a-z0-9_]+]] = tensor.empty(%[[ROWS]], %[[COLUMNS]]) : tensor<?x?xf64, #[[CSR]]>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-SAME: outs(%[[EMPTY]] :
