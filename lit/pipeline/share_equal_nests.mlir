// RUN: mlir-sparse emit "A(i,j,k) = T(i,j,k) + U(i,j,k)" -f T:CSF -f U:CSF -f A:CSF --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(share-equal-nests)" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// The same loops copy the parts of T alone and of U alone, below the first level and below the second.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.while
// CHECK: arith.minui %[[SECOND:[a-z0-9_]+]], %[[FIRST:[a-z0-9_]+]] : index
// CHECK: scf.while
// CHECK: scf.while
// CHECK: arith.select %[[ONE:[a-z0-9_]+]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : memref<
// CHECK: arith.ori %[[ONE]], %[[OTHER:[a-z0-9_]+]] : i1
// After a merge: an iteration for T, and one for U.
// CHECK: scf.for %[[TURN:[a-z0-9_]+]] = %c0_{{[0-9]+}} to %c2
// CHECK: %[[IS_FIRST:[a-z0-9_]+]] = arith.cmpi eq, %[[TURN]], %
// CHECK: arith.select %[[IS_FIRST]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : memref<
// CHECK: loop_annotation = #loop_annotation
// CHECK: arith.ori
// CHECK: loop_annotation = #loop_annotation
// CHECK-NOT: scf.while
