// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j) if M(i,j)" -f A:CSR -f B:CSR -f M:CSR -f C:CSR --stage sparsified | FileCheck %s

// A row of the mask is scattered to positions; its values are not read, and no product is computed elsewhere.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %{{[a-z0-9_]+}}: memref<?xindex>, %{{[a-z0-9_]+}}: memref<?xindex>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>,
// CHECK-NOT: memref.subview %[[VALUES]]
// CHECK: scf.for
// CHECK: memref.store %{{.+}}, %[[PLACES:[a-z0-9_]+]][
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load %[[PLACES]]
// CHECK: scf.if
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: return
