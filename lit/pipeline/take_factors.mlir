// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = z(i) - alpha * A(i,j) * x(j)" -f A:CSR --diff take-factors | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = T(i,j,k) * u(j) * v(k)" -f T:CSF --diff take-factors | FileCheck %s --check-prefix=CARRIED --allow-empty

// What is the same for all entries of a row multiplies their sum; a row without entries has no multiple.

// CHECK: %[[SOME:[a-z0-9_]+]] = arith.cmpi ult
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.for {{.+}} iter_args(%[[HELD:[a-z0-9_]+]] = %cst
// CHECK: arith.subf %[[HELD]]
// CHECK: %[[MULTIPLE:[a-z0-9_]+]] = arith.mulf %[[SUM]]
// CHECK: %[[TOTAL:[a-z0-9_]+]] = arith.addf %[[START:[a-z0-9_]+]], %[[MULTIPLE]]
// CHECK: arith.select %[[SOME]], %[[TOTAL]], %[[START]]

// A sum that the loop around it carries goes on.
// CARRIED-NOT: arith.select
