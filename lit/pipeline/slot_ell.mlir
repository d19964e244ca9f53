// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL --stage sparsified | FileCheck %s

// Textbook ELL, slot by slot: the outer loop runs over slots, the next over rows, and both add to y. The coordinate
// decides
// whether a slot has an entry; of the positions derived for the sparsifier only the first is read.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[POSITIONS:[a-z0-9_]+]]: memref<?xindex>, %[[COORDINATES:[a-z0-9_]+]]: memref<?xindex>,
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = memref.subview %[[COORDINATES]]
// CHECK: scf.for %[[SLOT:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[HELD:[a-z0-9_]+]] = memref.load %[[Y]][%[[ROW]]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %[[COLUMNS]][%{{.+}}]
// CHECK: %[[ENTRY:[a-z0-9_]+]] = arith.cmpi sge, %[[COLUMN]], %{{.+}} : index
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.if %[[ENTRY]]
// CHECK: memref.load %{{[a-z0-9_]+}}[%[[COLUMN]]]
// CHECK: scf.yield %[[HELD]]
// CHECK: memref.store %[[SUM]], %[[Y]][%[[ROW]]]
// CHECK-NOT: scf.for
