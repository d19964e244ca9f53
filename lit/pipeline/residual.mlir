// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = b(i) - A(i,j) * x(j)" -f A:CSR --stage sparsified | FileCheck %s

// The addend fills y by a function of its own; the products are subtracted from what y holds, in a register along a row.

// CHECK-LABEL: func.func @kernel_0(
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @kernel_1(
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[HELD:[a-z0-9_]+]] = memref.load %[[Y]][%[[ROW]]]
// CHECK: scf.for {{.*}} iter_args(%[[PARTIAL:[a-z0-9_]+]] = %[[HELD]])
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf
// CHECK: arith.subf %[[PARTIAL]], %[[PRODUCT]]
// CHECK: memref.store %{{.+}}, %[[Y]][%[[ROW]]]
// CHECK-NOT: linalg.fill
