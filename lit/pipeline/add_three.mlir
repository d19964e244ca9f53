// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = (A(i,j) + B(i,j) + C(i,j)) * x(j)" -f A:CSR -f B:CSR -f C:CSR --optimize off --stage sparsified | FileCheck %s

// One pass over three rows: a loop while all three have entries, one for each pair, and one for each alone.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK-COUNT-4: scf.while
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.while
// CHECK: return
