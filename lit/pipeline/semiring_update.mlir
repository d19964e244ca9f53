// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring min_plus --stage sparsified | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) += A(i,j) * x(j)" -f A:CSR --semiring min_plus --stage sparsified | FileCheck %s --check-prefix=APART

// The reduction is a loop-carried value over a row's entries, which starts from infinity and is stored once.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[FAR:.+]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: scf.for
// CHECK: %[[LEAST:.+]] = scf.for {{.*}} iter_args(%[[SOFAR:.+]] = %[[FAR]]) -> (f64)
// CHECK: %[[SUM:.+]] = arith.addf
// CHECK: %[[NEXT:.+]] = arith.minimumf %[[SOFAR]], %[[SUM]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: memref.store %[[LEAST]]
// CHECK-NOT: sparse_tensor

// It would lose the present value of y, so it goes to a temporary, which is combined with y afterwards.

// APART-LABEL: func.func @kernel_1(
// APART: scf.for {{.*}} iter_args
// APART-LABEL: func.func @kernel_2(
// APART: arith.minimumf
