// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(j) = A(i,j)" -f A:CSR --stage sparsified | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "s = T(i,j,k)" -f T:CSF --stage sparsified | FileCheck %s --check-prefix=LEVELS
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(j) = A(i,j) * x(i)" -f A:CSR --stage sparsified | FileCheck %s --check-prefix=ROWS

// Sums of columns see no ends of rows: one loop runs from where the first row begins to where the last one ends.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[POSITIONS:[a-z0-9_]+]] = memref.subview %arg0
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[POSITIONS]][%c0]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %[[POSITIONS]]
// CHECK: scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step %c1{{.*}} {
// CHECK-NOT: scf.for
// CHECK: return

// Nor do sums of all entries see those of fibers and slices.

// LEVELS-LABEL: func.func @kernel(
// LEVELS-COUNT-1: scf.for
// LEVELS-NOT: scf.for
// LEVELS: return

// What an entry is multiplied by depends on its row.

// ROWS-LABEL: func.func @kernel(
// ROWS-COUNT-2: scf.for
// ROWS: return
