// RUN: mlir-sparse run - --entry p < %s | FileCheck %s
// RUN: mlir-sparse explore - --canonicalize -o %t.html < %s
// RUN: FileCheck %s --check-prefix=PAGE < %t.html
// RUN: echo "y(i) = A(i,j" | not mlir-sparse run - 2>&1 | FileCheck %s --check-prefix=NOTATION

// A module, or notation, from standard input.

// CHECK: result {{ *}}16.0
// PAGE: canonicalize
// NOTATION: notation:1:1{{[0-9]}}: expected
func.func @p() -> f64 {
  %p = arith.constant 8.0 : f64
  %q = arith.addf %p, %p : f64
  return %q : f64
}
