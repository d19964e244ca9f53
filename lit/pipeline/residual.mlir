// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = b(i) - A(i,j) * x(j)" -f A:CSR --stage sparsified | FileCheck %s

// Each row starts from its addend; the products are subtracted from it in a register, and y is written once.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[B:[a-z0-9_]+]]: memref<?xf64>, %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK-NOT: linalg.generic {
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[HELD:[a-z0-9_]+]] = memref.load %[[B]][%[[ROW]]]
// CHECK: scf.for {{.*}} iter_args(%[[PARTIAL:[a-z0-9_]+]] = %[[HELD]])
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf
// CHECK: arith.subf %[[PARTIAL]], %[[PRODUCT]]
// CHECK: memref.store %{{.+}}, %[[Y]][%[[ROW]]]
// CHECK-NOT: linalg.fill
