// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR -t A:f32 -t x:f32 | FileCheck %s --check-prefix=FLOAT
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR -t A:i8 -t x:i8 -t y:i8 | FileCheck %s --check-prefix=INTEGER
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR -t A:c64 -t x:c64 | FileCheck %s --check-prefix=COMPLEX

// The payload uses the arithmetic of the element type.

// FLOAT-NOT: f64
// FLOAT: tensor<?x?xf32, #
// FLOAT: arith.mulf {{.*}} : f32
// FLOAT-NOT: f64

// INTEGER: tensor<?x?xi8, #
// INTEGER: arith.muli {{.*}} : i8
// INTEGER: arith.addi {{.*}} : i8

// COMPLEX: tensor<?x?xcomplex<f32>, #
// COMPLEX: complex.mul {{.*}} : complex<f32>
// COMPLEX: complex.add {{.*}} : complex<f32>
