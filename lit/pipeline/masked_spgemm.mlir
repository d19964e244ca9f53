// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = L(i,j) * (L(i,k) * L(k,j))" -f L:CSR -f C:CSR --stage sparsified | FileCheck %s

// Triangle counting: at each entry of L a row meets a column, and the sum is stored if they met. There is no workspace:
// no element of the product exists where L has no entry.

// CHECK-NOT: memref.alloc
// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ROW]]]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: scf.while
// CHECK: arith.andi
// CHECK: scf.condition
// CHECK: scf.if
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK: scf.if
// CHECK: memref.store %[[COLUMN]],
// CHECK-NOT: math.cttz
// CHECK: return
