// RUN: mlir-sparse emit "y(i) = A(I(i),j) * x(j)" -f A:CSR -t I:i64 | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,i,j) * x(j)" -f A:CSF | FileCheck %s --check-prefix=DIAGONAL

// Rows that a tensor names are picked before the loops, and stay sparse.

// CHECK: // A.picked = elements A(I(i),j) of A as f64[?,?] (i, j) -> (i : dense, j : compressed): its places
// CHECK: func.func @kernel(
// CHECK-SAME: tensor<?x?xf64, #
// CHECK: linalg.generic
// CHECK-NOT: tensor.gather

// DIAGONAL: // A.picked = elements A(i,i,j) of A as
// DIAGONAL: func.func @kernel(
