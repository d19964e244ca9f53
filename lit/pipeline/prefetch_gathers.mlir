// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --diff prefetch-gathers | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j)" -f A:CSR --diff prefetch-gathers | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --diff prefetch-gathers | FileCheck %s --check-prefix=NONE --allow-empty

// Before all loops a sample of the coordinates says whether most entries have no neighbour that is near.
// CHECK: %[[LOOKED:[a-z0-9_]+]] = arith.andi
// CHECK: %[[APART:[a-z0-9_]+]] = scf.if %[[LOOKED]] -> (i1)
// CHECK: scf.for {{.+}} iter_args({{.+}}) -> (index)
// CHECK: scf.for {{.+}} iter_args({{.+}}) -> (i1)
// CHECK: arith.ori

// In a loop over entries, the element of x that a later one names is asked for; where entries are near, nothing is.
// CHECK: scf.if %[[APART]] -> (f64)
// CHECK: %[[BOUNDED:[a-z0-9_]+]] = arith.minui
// CHECK: %[[LATER:[a-z0-9_]+]] = memref.load %{{.+}}[%[[BOUNDED]]]
// CHECK: memref.prefetch %{{.+}}[%[[LATER]]], read
// CHECK: else
// CHECK-NOT: memref.prefetch

// Without an array there is nothing to ask for; nor do rows that entries name follow each other.
// NONE-NOT: memref.prefetch
