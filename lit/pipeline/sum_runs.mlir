// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:COO --stage sparsified | FileCheck %s

// Where eight entries have one row, its element is read and written once for them; elsewhere for each.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[FIRST:[a-z0-9_]+]] = {{.+}} step %c8{{.*}} {
// CHECK: %[[ROW:[a-z0-9_]+]] = memref.load %[[ROWS:[a-z0-9_]+]][%[[FIRST]]]
// CHECK: %[[END:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c7{{.*}} : index
// CHECK: %[[LAST:[a-z0-9_]+]] = memref.load %[[ROWS]][%[[END]]]
// CHECK: %[[ONE:[a-z0-9_]+]] = arith.cmpi eq, %[[ROW]], %[[LAST]]
// CHECK: scf.if %[[ONE]]
// CHECK: %[[BEFORE:[a-z0-9_]+]] = memref.load %[[Y:[a-z0-9_]+]][%[[ROW]]]
// CHECK: %[[AFTER:[a-z0-9_]+]] = vector.reduction <add>, %{{.+}}, %[[BEFORE]]
// CHECK: memref.store %[[AFTER]], %[[Y]][%[[ROW]]]
// CHECK: else
// CHECK: scf.for

// The last few are added one by one.

// CHECK: scf.for
// CHECK: memref.store
// CHECK: return
