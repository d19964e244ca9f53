// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "S(i,j) = 2 * B(i,j)" -f B:COO -f S:COO --stage sparsified | FileCheck %s

// The result has the entries of B: only values are stored, each at the position of B's.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[VALUES:[a-z0-9_]+]]: memref<?xf64>) -> memref<?xf64>
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK-NEXT: %[[GIVEN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xf64>
// CHECK-NEXT: %[[MADE:[a-z0-9_]+]] = arith.mulf %[[GIVEN]]
// CHECK-NEXT: memref.store %[[MADE]], %[[VALUES]][%[[ENTRY]]]
// CHECK-NOT: memref.store
// CHECK: return %[[VALUES]]
