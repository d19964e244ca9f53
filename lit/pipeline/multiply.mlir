// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) * B(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified | FileCheck %s

// A loop intersects two rows while both have entries; the rest of either needs no loop.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.while
// CHECK: arith.andi
// CHECK: scf.condition
// CHECK: scf.if
// CHECK: arith.mulf
// CHECK-NOT: scf.for
// CHECK-NOT: scf.while
// CHECK: return
