// RUN: mlir-sparse emit "D(i,j) = A(i,j) + B(i,j) + C(i,j)" -f A:CSR -f B:DCSR -f C:CSC -f D:CSR | FileCheck %s

// Three matrices in three formats are added two at a time; the one stored by columns is converted first, natively.

// CHECK: // C.converted = natively converted C as f64[?,?]
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK-DAG: #[[DCSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : compressed) }>
// CHECK-LABEL: func.func @kernel_0(
// CHECK-SAME: tensor<?x?xf64, #[[CSR]]>, %{{.+}}: tensor<?x?xf64, #[[DCSR]]>) -> tensor<?x?xf64, #[[CSR]]>
// CHECK-NOT: sparse_tensor.convert
// CHECK: linalg.generic
// CHECK-COUNT-1: arith.addf
// CHECK: linalg.yield
// CHECK-LABEL: func.func @kernel_1(
// CHECK-SAME: tensor<?x?xf64, #[[CSR]]>, %{{.+}}: tensor<?x?xf64, #[[CSR]]>) -> tensor<?x?xf64, #[[CSR]]>
// CHECK-NOT: sparse_tensor.convert
// CHECK: linalg.generic
// CHECK-COUNT-1: arith.addf
// CHECK: linalg.yield
// CHECK-NOT: linalg.generic
