// RUN: mlir-sparse opt %s --sparsifier="enable-runtime-library=false" | mlir-sparse runner -e main -entry-point-result=void -shared-libs=libmlir_c_runner_utils.so,libmlir_runner_utils.so | FileCheck %s
// RUN: mlir-sparse opt %s --user-module | mlir-sparse runner -e number --entry-point-result=i32 | FileCheck %s --check-prefix=NUMBER
// RUN: mlir-sparse opt %s --user-module | mlir-sparse runner -O0 -e real --entry-point-result=f32 | FileCheck %s --check-prefix=REAL
// RUN: mlir-sparse opt %s --user-module | not mlir-sparse runner -e endless --timeout 0.5 2>&1 | FileCheck %s --check-prefix=ENDLESS
// RUN: mlir-sparse opt %s --user-module | not mlir-sparse runner -e deadly 2>&1 | FileCheck %s --check-prefix=DEADLY
// RUN: mlir-sparse opt %s --user-module | not mlir-sparse runner -e absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not mlir-sparse runner %s 2>&1 | FileCheck %s --check-prefix=HIGH

// CHECK: ( 1, 2, 3 )
// CHECK-NEXT: 2.5
// CHECK: Memref base@ = {{0x[0-9a-f]+}} rank = 1 offset = 0 sizes = [2] strides = [1] data =
// CHECK-NEXT: [-3, -3]
// NUMBER: 42
// REAL: 1.500000e+00
// ENDLESS: expected @endless to end within 0.5 s
// DEADLY: expected @deadly of <stdin> to return, but it was killed by SIG
// ABSENT: expected a function absent
// HIGH: expected a module of the LLVM dialect
func.func private @printMemref1dI32(memref<?xi32>) attributes { llvm.emit_c_interface }

func.func @main() {
  %v = arith.constant dense<[1, 2, 3]> : vector<3xi32>
  vector.print %v : vector<3xi32>
  %f = arith.constant 2.5 : f64
  vector.print %f : f64
  %t = arith.constant -3 : i32
  %c2 = arith.constant 2 : index
  %m = memref.alloc(%c2) : memref<?xi32>
  linalg.fill ins(%t : i32) outs(%m : memref<?xi32>)
  call @printMemref1dI32(%m) : (memref<?xi32>) -> ()
  memref.dealloc %m : memref<?xi32>
  return
}

func.func @number() -> i32 {
  %0 = arith.constant 42 : i32
  return %0 : i32
}

func.func @real() -> f32 {
  %0 = arith.constant 1.5 : f32
  return %0 : f32
}

func.func private @abort()

func.func @deadly() {
  call @abort() : () -> ()
  return
}

func.func private @rtclock() -> f64

func.func @endless() {
  %t = arith.constant true
  scf.while : () -> () {
    %0 = func.call @rtclock() : () -> f64
    scf.condition(%t)
  } do {
    scf.yield
  }
  return
}
