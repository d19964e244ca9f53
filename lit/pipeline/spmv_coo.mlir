// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:COO --stage sparsified | FileCheck %s

// Coordinates of one entry lie side by side in one buffer, read through two strided views; runs of equal rows are one
// segment.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?xindex>, %[[BUFFER:[a-z0-9_]+]]: memref<?xindex>,
// CHECK: %[[ROWS:[a-z0-9_]+]] = memref.subview %[[BUFFER]][0] [%{{.+}}] [2]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = memref.subview %[[BUFFER]][1] [%{{.+}}] [2]
// CHECK: scf.while (%[[SEGMENT:[a-z0-9_]+]] = %[[FIRST:[a-z0-9_]+]]) : (index) -> index
// CHECK: memref.load %[[ROWS]][%[[FIRST]]]
// CHECK: memref.load %[[ROWS]][%[[SEGMENT]]]
// CHECK: arith.cmpi eq
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK: memref.load %[[COLUMNS]][%[[ENTRY]]]
