// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL --stage sparsified | FileCheck %s

// Textbook ELL, slot by slot: the outer loop runs over slots, the next over rows, and both add to y.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: scf.for %[[SLOT:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[Y]][%[[ROW]]]
// CHECK: scf.for
// CHECK: memref.store %{{.+}}, %[[Y]][%[[ROW]]]
// CHECK-NOT: scf.for
