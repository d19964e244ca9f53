// RUN: mlir-sparse emit "C(i,j) = sqrt(A(i,j))" -f A:CSR -f C:CSR | FileCheck %s --check-prefix=KEEPS
// RUN: mlir-sparse emit "C(i,j) = exp(A(i,j))" -f A:CSR | FileCheck %s --check-prefix=FILLS

// A function that keeps zeros is applied to stored entries only; one that does not needs every element.

// KEEPS-NOT: A_converted
// KEEPS: linalg.generic
// KEEPS-SAME: tensor<?x?xf64, #
// KEEPS: math.sqrt

// FILLS: // A_converted = natively converted A as f64[?,?]:
// FILLS: linalg.generic
// FILLS-NOT: tensor<?x?xf64, #
// FILLS: math.exp
