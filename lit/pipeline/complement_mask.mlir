// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) if not M(i,j)" -f A:CSR -f M:CSR -f C:CSR --stage sparsified | FileCheck %s

// Rows are merged; where both have an entry nothing is stored, and what the mask has left needs no loop.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.if
// CHECK-NEXT: scf.yield
// CHECK: memref.store {{.*}} : memref<?xf64>
// CHECK: scf.for
// CHECK: memref.store {{.*}} : memref<?xf64>
// CHECK-NOT: scf.for
// CHECK: return
