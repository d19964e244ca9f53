// RUN: mlir-sparse emit "C(i,j) = A(i,j) + A(j,i)" -f A:CSR -f C:CSR | FileCheck %s

// No loop order reads a matrix by rows and by columns, so a copy by columns is read as the transpose by rows.

// CHECK: // A.converted = natively converted A as f64[?,?] (i, j) -> (j : dense, i : compressed)
// CHECK-DAG: #[[PLAIN:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SWAPPED:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK-DAG: #[[CSC:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?x?xf64, #[[CSR]]>, %{{.+}}: tensor<?x?xf64, #[[CSC]]>)
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[PLAIN]], #[[SWAPPED]], #[[PLAIN]]]
