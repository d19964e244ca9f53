// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,j,k) * c(k)" -f B:CSF -f A:CSR --stage sparsified | FileCheck %s

// Three compressed levels give three loops over positions. A fiber becomes one entry of A; positions of rows without
// fibers
// are set afterwards.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: memref<?xf64>, %{{[a-z0-9_]+}}: memref<?xindex>
// CHECK: scf.for %[[I:[a-z0-9_]+]] =
// CHECK: scf.for %[[J:[a-z0-9_]+]] =
// CHECK: scf.for %[[K:[a-z0-9_]+]] =
// CHECK: memref.load %[[C]]
// CHECK: arith.addf
// CHECK: scf.if
// CHECK: memref.store {{.*}} : memref<?xf64>
// CHECK: scf.for
// CHECK: arith.maxui
// CHECK: return
