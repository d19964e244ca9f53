// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = where(A(i,j) > 1, A(i,j), B(i,j))" -f A:CSR -f B:CSR -f C:CSR --stage sparsified | FileCheck %s

// Rows are merged. Where only B has an entry the condition is known: 0 is not above 1, and the entry is copied.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.while
// CHECK: scf.if
// CHECK: arith.cmpf ogt
// CHECK: arith.select
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: scf.for
// CHECK-NOT: arith.cmpf
// CHECK: return
