// RUN: mlir-sparse emit "C(i,j) = sqrt(A(i,j))" -f A:CSR -f C:CSR | FileCheck %s --check-prefix=KEEPS
// RUN: mlir-sparse emit "C(i,j) = exp(A(i,j))" -f A:CSR | FileCheck %s --check-prefix=FILLS

// A function that keeps zeros is applied to stored entries only; one that does not needs every element.

// KEEPS-NOT: A.converted
// KEEPS: linalg.generic
// KEEPS-SAME: tensor<?x?xf64, #
// KEEPS: math.sqrt

// FILLS: // A.converted = natively converted A as f64[?,?]:
// FILLS: linalg.generic
// FILLS-NOT: tensor<?x?xf64, #
// FILLS: math.exp

// RUN: mlir-sparse emit "y(i) = floor_divide(a(i), b(i))" -t a:i32 -t b:i32 | FileCheck %s --check-prefix=GUARDED
// RUN: mlir-sparse emit "C(i,j) = copysign(A(i,j), x(j))" -f A:CSR | FileCheck %s --check-prefix=SIGN

// Integers are divided by 1 where by 0 or -1: neither may trap.

// GUARDED: %[[BY:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// GUARDED: arith.floordivsi %{{.*}}, %[[BY]] : i32

// A zero keeps its place whatever sign it gets.

// SIGN: tensor<?x?xf64, #
// SIGN: sparse_tensor.unary
// SIGN: math.copysign
