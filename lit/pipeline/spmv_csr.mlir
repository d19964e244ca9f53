// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage sparsified | FileCheck %s

// Rows are a dense loop; the entries of a row lie between two neighbouring positions. Whether there are vectors, of
// all rows or of all but the last, depends on the host; where a row ends does not.

// CHECK-NOT: sparse_tensor.
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[POSITIONS:[a-z0-9_]+]]: memref<?xindex>,
// CHECK-SAME: %[[COORDINATES:[a-z0-9_]+]]: memref<?xindex>,
// CHECK-SAME: %[[VALUES:[a-z0-9_]+]]: memref<?xf64>,
// CHECK-SAME: %[[SIZES:[a-z0-9_]+]]: !llvm.struct<
// CHECK: %[[POS:[a-z0-9_]+]] = memref.subview %[[POSITIONS]]
// CHECK: %[[CRD:[a-z0-9_]+]] = memref.subview %[[COORDINATES]]
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[POS]][%[[ROW]]]
// CHECK: %[[NEXT:[a-z0-9_]+]] = arith.addi %[[ROW]], %c1
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %[[POS]][%[[NEXT]]]
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %{{.+}} to %[[END]]
// CHECK: {{memref.load|vector.maskedload}} %[[CRD]][%[[ENTRY]]]
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic {
// CHECK-NOT: sparse_tensor.
