// RUN: mlir-sparse emit "y(i) += A(i,j) * x(j)" -f A:CSR | FileCheck %s

// What y holds is an argument: it is copied first, and the product is added to the copy.

// CHECK-NOT: linalg.fill
// CHECK-LABEL: func.func @kernel_0(
// CHECK: ^bb0(%[[VALUE:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: linalg.yield %[[VALUE]]
// CHECK-LABEL: func.func @kernel_1(
// CHECK-NOT: linalg.fill
// CHECK: arith.addf %out,
