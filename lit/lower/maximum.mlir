// RUN: mlir-sparse emit "y(i) = max(j : A(i,j))" | FileCheck %s

// The reduction starts from its own identity, minus infinity.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[IDENTITY:[a-z0-9_]+]] = arith.constant 0xFFF0000000000000 : f64
// CHECK: linalg.fill ins(%[[IDENTITY]] : f64)
// CHECK: linalg.generic
// CHECK: arith.maximumf
