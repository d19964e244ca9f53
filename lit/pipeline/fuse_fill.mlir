// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(j) = alpha * A(i,j) * x(i) + beta * z(j)" -f A:CSC --stage sparsified | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage sparsified | FileCheck %s --check-prefix=IDENTITY

// The initial value of a row is computed before its loop; y is written once for each row, and never read.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[BETA:[a-z0-9_]+]]: memref<f64>, %[[Z:[a-z0-9_]+]]: memref<?xf64>, %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK-NOT: linalg.generic {
// CHECK-NOT: memref.load %[[Y]]
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to %[[ROWS:[a-z0-9_]+]] step
// CHECK-NEXT: %[[FACTOR:[a-z0-9_]+]] = memref.load %[[BETA]][]
// CHECK-NEXT: %[[ADDEND:[a-z0-9_]+]] = memref.load %[[Z]][%[[ROW]]]
// CHECK-NEXT: %[[START:[a-z0-9_]+]] = arith.mulf %[[FACTOR]], %[[ADDEND]]
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.for {{.+}} iter_args(%{{.+}} = %[[START]]) -> (f64)
// CHECK: memref.store %[[SUM]], %[[Y]][%[[ROW]]]

// Rows behind the last level of A, of which there are none, start as well.
// CHECK: %[[SIZE:[a-z0-9_]+]] = memref.dim %[[Y]]
// CHECK: scf.for %{{[a-z0-9_]+}} = %[[ROWS]] to %[[SIZE]]
// CHECK: return %[[Y]]

// IDENTITY-NOT: linalg.generic {
// IDENTITY: scf.for
// IDENTITY: scf.for
// IDENTITY-NOT: linalg.generic {
// IDENTITY: return
