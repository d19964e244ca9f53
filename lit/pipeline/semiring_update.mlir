// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring min_plus --stage sparsified | FileCheck %s
// RUN: mlir-sparse emit "y(i) += A(i,j) * x(j)" -f A:CSR --semiring min_plus --stage sparsified | FileCheck %s --check-prefix=APART

// The reduction is a value of the loop over a row's entries, which starts from infinity and is stored once.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[FAR:.+]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: scf.for
// CHECK: %[[LEAST:.+]] = scf.for {{.*}} iter_args(%[[SOFAR:.+]] = %[[FAR]]) -> (f64)
// CHECK: %[[SUM:.+]] = arith.addf
// CHECK: %[[NEXT:.+]] = arith.minimumf %[[SOFAR]], %[[SUM]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: memref.store %[[LEAST]]
// CHECK-NOT: sparse_tensor

// It would forget what y held: it goes into an array of its own, which y is combined with after.

// APART-LABEL: func.func @kernel_1(
// APART: scf.for {{.*}} iter_args
// APART-LABEL: func.func @kernel_2(
// APART: arith.minimumf
