// RUN: mlir-sparse emit "C(i,j) = select(A(i,j), A(i,j) > 0.5)" -f A:CSR -f C:CSR | FileCheck %s

// A sparse result is inserted into where the condition on the entry holds.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[KEPT:.+]] = sparse_tensor.select %{{.+}} : f64 {
// CHECK-NEXT: ^bb0(%[[ENTRY:[a-z0-9_]+]]: f64):
// CHECK: arith.cmpf ogt, %[[ENTRY]],
// CHECK: sparse_tensor.yield %{{.+}} : i1
// CHECK: linalg.yield %[[KEPT]]
