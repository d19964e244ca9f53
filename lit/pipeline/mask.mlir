// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j) if M(i,j)" -f A:CSR -f B:CSR -f M:CSR -f C:CSR --stage sparsified | FileCheck %s

// The mask's entries are the outer loops, its values are not read, and no product is formed anywhere else.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %{{[a-z0-9_]+}}: memref<?xindex>, %{{[a-z0-9_]+}}: memref<?xindex>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>,
// CHECK-NOT: memref.subview %[[VALUES]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.while
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: math.cttz
// CHECK: return
