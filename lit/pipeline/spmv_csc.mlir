// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSC --stage sparsified | FileCheck %s

// By columns the product is a scatter: x is read once for each column, and y is updated for each entry.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?xf64>, %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: scf.for %[[COLUMN:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[X]][%[[COLUMN]]]
// CHECK: scf.for
// CHECK-NOT: %[[X]]
// CHECK: return %[[Y]]
