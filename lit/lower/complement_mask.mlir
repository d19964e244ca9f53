// RUN: mlir-sparse emit "C(i,j) = A(i,j) if not M(i,j)" -f A:CSR -f M:CSR -f C:CSR | FileCheck %s

// Only what the mask has no entry for has a result: the region for the second operand alone.

// CHECK-LABEL: func.func @kernel(
// CHECK: sparse_tensor.binary
// CHECK-NEXT: overlap = {
// CHECK-NEXT: }
// CHECK-NEXT: left = {
// CHECK-NEXT: }
// CHECK-NEXT: right = {
// CHECK-NEXT: ^bb0(%[[VALUE:[a-z0-9_]+]]: f64):
// CHECK-NEXT: sparse_tensor.yield %[[VALUE]]
