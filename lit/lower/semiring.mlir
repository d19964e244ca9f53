// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring min_plus | FileCheck %s

// Multiplication becomes an addition where A has an entry, the sum a minimum that starts from infinity.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[INFINITY:[a-z0-9_]+]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: linalg.fill ins(%[[INFINITY]] : f64)
// CHECK: linalg.generic
// CHECK: %[[LENGTH:[a-z0-9_]+]] = sparse_tensor.unary
// CHECK: arith.addf
// CHECK: absent = {
// CHECK-NEXT: }
// CHECK: sparse_tensor.reduce %{{.+}}, %[[LENGTH]],
// CHECK: arith.minimumf
// CHECK-NOT: arith.mulf
