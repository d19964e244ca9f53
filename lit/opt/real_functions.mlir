// RUN: mlir-sparse opt %s --expand-functions="fma=true bits=512" | FileCheck %s
// RUN: mlir-sparse opt %s --expand-functions=fma=false | FileCheck %s --check-prefix=CALLS

// A number and a vector are computed alike: the nearest power of 2, a polynomial, and no call.

// CHECK-LABEL: func.func @number(
// CHECK-NOT: math.exp
// CHECK: arith.select
// CHECK: arith.constant 0x4338000000000000 : f64
// CHECK: %[[SUM:[a-z0-9_]+]] = arith.addf
// CHECK: arith.constant 0x4338000000000000 : f64
// CHECK: arith.subf %[[SUM]],
// CHECK-COUNT-3: math.fma
// CHECK: arith.shli %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i64
// CHECK-NOT: math.exp
// CHECK: return
// CALLS-LABEL: func.func @number(
// CALLS: math.exp %{{[a-z0-9_]+}} : f64
func.func @number(%x: f64) -> f64 {
  %y = math.exp %x : f64
  return %y : f64
}

// CHECK-LABEL: func.func @vector(
// CHECK-NOT: math.log
// CHECK: arith.divf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<8xf32>
// CHECK-NOT: math.log
// CHECK: return
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.log1p %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Functions that no vector has here are the library's.

// CHECK-LABEL: func.func @other(
// CHECK: math.sin
// CHECK: math.exp %{{[a-z0-9_]+}} : f16
func.func @other(%x: f64, %h: f16) -> (f64, f16) {
  %y = math.sin %x : f64
  %z = math.exp %h : f16
  return %y, %z : f64, f16
}
