// RUN: mlir-sparse emit "y(i) += A(i,j) * x(j)" -f A:CSR | FileCheck %s

// The present value of y is an argument: the rows of the result start from it, and the product is added.

// CHECK-NOT: linalg.fill
// CHECK-LABEL: func.func @kernel(
// CHECK: ^bb0(%[[VALUE:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: linalg.yield %[[VALUE]]
// CHECK-NOT: linalg.fill
// CHECK: arith.addf %out,
