// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j,k) = B(i,j,l) * C(k,l)" -f B:CSF --stage sparsified | FileCheck %s

// Entries of a fiber of B are scattered, each over a column of C, into a dense fiber of A.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: memref<?x?x?xf64>) ->
// CHECK-COUNT-4: scf.for
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: scf.for
// CHECK: return %[[A]]
