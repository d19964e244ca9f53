// RUN: mlir-sparse emit "C(i,j) = L(i,j) * (L(i,k) * L(k,j))" -f L:CSR -f C:CSR --stage sparsified | FileCheck %s

// Triangle counting: a row of the mask is scattered, so that each product finds in one step whether the mask has an
// entry
// there. Other products are neither computed nor stored; at the end of the row the mask is cleared.

// CHECK-NOT: memref.alloc
// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[MASKED:[a-z0-9_]+]] = memref.load %{{.+}} : memref<?xindex>
// CHECK: memref.store %{{.+}}, %[[PLACES:[a-z0-9_]+]][%[[MASKED]]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[PLACE:[a-z0-9_]+]] = memref.load %[[PLACES]][%[[COLUMN:[a-z0-9_]+]]]
// CHECK: %[[MEETS:[a-z0-9_]+]] = arith.cmpi ne, %[[PLACE]], %c0
// CHECK: scf.if %[[MEETS]]
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: scf.for
// CHECK: memref.store %c0, %[[PLACES]]
// CHECK: return
