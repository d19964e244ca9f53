// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * B(i,j) * C(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(leapfrog-lists,func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=THREE
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = (A(i,j) + B(i,j)) * C(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(leapfrog-lists,func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=MIXED

// What is done where all meet stands once. Elsewhere the first two lists go on to where they meet, each by a loop that
// looks at its own coordinates alone; the third follows, and the first is moved on to where that is.

// THREE: scf.while
// THREE: } do {
// THREE-NOT: arith.minui
// THREE: %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %[[B:[a-z0-9_]+]], %[[A:[a-z0-9_]+]] : index
// THREE-NEXT: %[[SECOND:[a-z0-9_]+]] = arith.cmpi eq, %[[C:[a-z0-9_]+]], %[[A]] : index
// THREE-NEXT: %[[ALL:[a-z0-9_]+]] = arith.andi %[[FIRST]], %[[SECOND]] : i1
// THREE-NEXT: scf.if %[[ALL]] ->
// THREE: arith.mulf
// THREE: arith.mulf
// THREE: arith.addf
// THREE: } else {
// THREE-NOT: arith.mulf
// THREE: scf.while
// THREE: arith.cmpi ne
// THREE-COUNT-4: scf.while
// THREE-NOT: scf.while

// Where some operands may be without an entry all lists that have the least coordinate move on.

// MIXED: arith.minui
// MIXED-NOT: arith.cmpi ne
