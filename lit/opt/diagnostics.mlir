// RUN: mlir-sparse opt %s --split-input-file --verify-diagnostics
// RUN: not mlir-sparse opt %s --split-input-file 2>&1 | FileCheck %s
// RUN: not mlir-sparse opt %s --split-input-file 2>/dev/null | mlir-sparse opt --split-input-file | FileCheck %s --check-prefix=OTHERS

// CHECK: diagnostics.mlir:[[@LINE+2]]:53: error: failed to infer lvlToDim from dimToLvl
// expected-error@+1 {{failed to infer lvlToDim}}
func.func private @f(tensor<4x4xf64, #sparse_tensor.encoding<{ map = (i, j) -> (j - i : dense, i : compressed) }>>)

// -----

// OTHERS: func.func @g
func.func @g() { return }

// -----

func.func @h(%a: i32) -> i32 {
  // CHECK: diagnostics.mlir:[[@LINE+2]]:10: error: use of undeclared SSA value name
  // expected-error-re @below {{use of {{un[a-z]+}} SSA value}}
  return %b : i32
}
