// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring min_plus --stage sparsified | FileCheck %s

// Shortest paths: entries are added to x and the minimum is kept. Missing entries contribute nothing.

// CHECK: %[[INFINITY:[a-z0-9_]+]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[LEAST:[a-z0-9_]+]] = %[[INFINITY]])
// CHECK: %[[LENGTH:[a-z0-9_]+]] = arith.addf
// CHECK: arith.minimumf %[[LEAST]], %[[LENGTH]]
// CHECK-NOT: arith.mulf
// CHECK: return
