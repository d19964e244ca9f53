// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(split-merges,func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=UNION
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "a = B(i,j,k) * C(i,j,k)" -f B:CSF -f C:CSF --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(split-merges,func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=INTERSECTION

// The coordinates are compared with each other, and each outcome has a branch with its loads, stores and steps.

// UNION: } do {
// UNION-NEXT: ^bb0
// UNION-NEXT: %[[A:[a-z0-9_]+]] = memref.load
// UNION-NEXT: %[[B:[a-z0-9_]+]] = memref.load
// UNION-NEXT: %[[MET:[a-z0-9_]+]] = arith.cmpi eq, %[[B]], %[[A]] : index
// UNION-NOT: arith.select
// UNION: scf.if %[[MET]] ->
// UNION: arith.addf
// UNION: llvm.inline_asm has_side_effects
// UNION: } else {
// UNION: %[[LESS:[a-z0-9_]+]] = arith.cmpi ult, %[[B]], %[[A]] : index
// UNION: scf.if %[[LESS]] ->
// UNION-COUNT-1: memref.load
// UNION-NOT: memref.load
// UNION: llvm.inline_asm has_side_effects
// UNION: } else {
// UNION-COUNT-1: memref.load
// UNION-NOT: memref.load
// UNION-NOT: llvm.inline_asm
// UNION: scf.for

// Only the innermost of nested loops is split, as it takes most of the time.

// INTERSECTION: arith.minui
// INTERSECTION: arith.minui
// INTERSECTION-NOT: arith.minui
// INTERSECTION: arith.mulf
// INTERSECTION: llvm.inline_asm has_side_effects
// INTERSECTION: llvm.inline_asm has_side_effects
// INTERSECTION-NOT: llvm.inline_asm
