// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = x(i + k) * w(k)" -f w:SparseVector --stage sparsified | FileCheck %s

// Taps that are zero are not stored, and cost nothing: the inner loop runs over the entries of w.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?xf64>,
// CHECK: scf.for %[[I:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK: %[[TAP:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: %[[PLACE:[a-z0-9_]+]] = arith.addi %[[I]], %[[TAP]]
// CHECK: memref.load %[[X]][%[[PLACE]]]
// CHECK-NOT: scf.for
// CHECK: return
