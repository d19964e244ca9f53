// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j)" -f A:CSR --stage sparsified | FileCheck %s

// Coordinates of columns are not read: a sum over all of them needs the values only.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %{{[a-z0-9_]+}}: memref<?xindex>, %[[COORDINATES:[a-z0-9_]+]]: memref<?xindex>,
// CHECK-NOT: %[[COORDINATES]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-NOT: %[[COORDINATES]]
// CHECK: return
