// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:COO --stage sparsified | FileCheck %s
// RUN: mlir-sparse emit "C(i,k) = A(i,j) * B(j,k)" -f A:COO --stage sparsified | FileCheck %s --check-prefix=RUNS

// Coordinates of one entry lie side by side in one buffer, read through two strided views. Entries are taken one by
// one: no loop looks for the end of a run of equal rows.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?xindex>, %[[BUFFER:[a-z0-9_]+]]: memref<?xindex>,
// CHECK: %[[ROWS:[a-z0-9_]+]] = memref.subview %[[BUFFER]][0] [%{{.+}}] [2]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = memref.subview %[[BUFFER]][1] [%{{.+}}] [2]
// CHECK-NOT: scf.while
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK-NEXT: %[[ROW:[a-z0-9_]+]] = memref.load %[[ROWS]][%[[ENTRY]]]
// CHECK-NEXT: %[[HELD:[a-z0-9_]+]] = memref.load %[[Y:[a-z0-9_]+]][%[[ROW]]]
// CHECK-NEXT: memref.load %[[COLUMNS]][%[[ENTRY]]]
// CHECK: %[[SUM:[a-z0-9_]+]] = arith.addf %[[HELD]],
// CHECK-NEXT: memref.store %[[SUM]], %[[Y]][%[[ROW]]]
// CHECK-NEXT: }
// CHECK-NEXT: return

// If a row of the result is accumulated in registers, a run of equal rows is one segment.
// RUNS: scf.while (%[[SEGMENT:[a-z0-9_]+]] = %[[FIRST:[a-z0-9_]+]]) : (index) -> index
// RUNS: %[[ROW:[a-z0-9_]+]] = memref.load %[[LIST:[a-z0-9_]+]][%[[FIRST]]]
// RUNS: memref.load %[[LIST]][%[[SEGMENT]]]
// RUNS: arith.cmpi eq
// RUNS: vector.fma
