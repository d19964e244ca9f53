// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:ELL --stage sparsified | FileCheck %s

// Each row has a begin and an end in adjacent positions: a row need not end where the next begins.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[FIRST:[a-z0-9_]+]] = arith.muli %[[ROW]], %c2
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[FIRST]]]
// CHECK: %[[SECOND:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c1
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %{{.+}}[%[[SECOND]]]
// CHECK: scf.for {{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.mulf
