// RUN: mlir-sparse run %s --entry scale -i n=3 -i x=-2.5e-1 -i z=1+2j -i flag=true | FileCheck %s
// RUN: not mlir-sparse run %s --entry scale -i n=2.5 -i x=1 -i z=1 -i flag=false 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not mlir-sparse run %s --entry scale -i n=three -i x=1 -i z=1 -i flag=0 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not mlir-sparse run %s --entry scale -i n=3 2>&1 | FileCheck %s --check-prefix=NONE

// Numbers of a function are given as they are.
// CHECK: n       3
// CHECK-NEXT: x       -0.25
// CHECK-NEXT: z       (1+2j)
// CHECK-NEXT: flag    True
// CHECK-NEXT: result  4
// CHECK-NEXT: result1 0.25
// CHECK-NEXT: result2 (1+2j)
// WIDTH: expected numbers that i64 holds for n, but got 2.5
// WORD: expected a number of index, or a file, but got 'three'
// NONE: expected -i x=NUMBER or -g x=random for f64, but got neither
func.func @scale(%n: index, %x: f64, %z: complex<f64>, %flag: i1) -> (index, f64, complex<f64>) {
  %one = arith.constant 1 : index
  %0 = arith.addi %n, %one : index
  %1 = arith.negf %x : f64
  %2 = arith.select %flag, %1, %x : f64
  return %0, %2, %z : index, f64, complex<f64>
}
