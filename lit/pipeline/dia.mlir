// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:DIA --stage sparsified | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:DIA --stage sparsified | FileCheck %s --check-prefix=HELD

// The operand is read in level space: a loop over diagonals, and inside it one over all rows, with x from the
// diagonal's
// offset on.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?xf64>, %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: scf.for %[[DIAGONAL:[a-z0-9_]+]] =
// CHECK: %[[OFFSET:[a-z0-9_]+]] = memref.load %{{.+}}[%[[DIAGONAL]]] : memref<?xindex>
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[Y]][%[[ROW]]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = arith.addi %[[OFFSET]], %[[ROW]]
// CHECK: memref.load %[[X]][%[[COLUMN]]]
// CHECK: memref.store %{{.+}}, %[[Y]][%[[ROW]]]
// CHECK-NOT: scf.for
// CHECK: return

// Rows are accumulated in registers across the diagonals. In a chunk of a call the result bounds the rows.
// The accumulators start from zero: nothing initialises the result before.
// HELD-NOT: linalg.generic {
// HELD: %[[SIZE:[a-z0-9_]+]] = memref.dim %[[Y:[a-z0-9_]+]],
// HELD: %[[ROWS:[a-z0-9_]+]] = arith.minui %{{[a-z0-9_]+}}, %[[SIZE]]
// HELD: scf.for %[[ROW:[a-z0-9_]+]] = %c0
// HELD-NOT: vector.load %[[Y]]
// HELD: scf.for %{{[a-z0-9_]+}} = {{.+}} -> (vector<
// HELD: vector.store %{{[a-z0-9_]+}}, %[[Y]][%[[ROW]]]
