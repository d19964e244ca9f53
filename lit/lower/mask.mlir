// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j) if M(i,j)" -f A:CSR -f B:CSR -f M:CSR -f C:CSR | FileCheck %s

// A mask is an operand whose entries are looked for and whose values are not used: only the overlap has a result.

// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK: ^bb0(%[[MASK:[a-z0-9_]+]]: f64,
// CHECK: sparse_tensor.binary %[[MASK]], %{{.+}}
// CHECK-NEXT: overlap = {
// CHECK-NEXT: ^bb0(%{{.+}}: f64, %[[VALUE:[a-z0-9_]+]]: f64):
// CHECK-NEXT: sparse_tensor.yield %[[VALUE]]
// CHECK: left = {
// CHECK-NEXT: }
// CHECK: right = {
// CHECK-NEXT: }
// CHECK-NOT: linalg.generic
