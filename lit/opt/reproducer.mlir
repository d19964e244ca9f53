// RUN: not mlir-sparse opt %s --sparsifier="enable-runtime-library=false" 2>&1 | FileCheck %s
// RUN: cat %s > %t.mlir
// RUN: echo "// pipeline: builtin.module(func.func(linalg-generalize-named-ops),canonicalize)" >> %t.mlir
// RUN: mlir-sparse opt %t.mlir --run-reproducer | FileCheck %s --check-prefix=AGAIN
// RUN: not mlir-sparse opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=UNMARKED

// The sparsifier dies on blocks of rows alone.
// CHECK: expected MLIR to run the passes on {{.*}}reproducer.mlir, but it was killed by SIG
// CHECK: reproduce: python -P -m mlir_sparse.pipeline {{.*}}.mlir
// AGAIN: linalg.generic
// UNMARKED: expected a line `// pipeline: ...`
#R = #sparse_tensor.encoding<{ map = (i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense) }>
func.func @mv(%A: tensor<?x?xf64, #R>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #R>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
