// RUN: mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:DCSR -f B:DCSR -f C:DCSR --stage sparsified | FileCheck %s

// A while loop merges two compressed levels by the smaller coordinate; a further loop handles the rest of each.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.while (%[[LEFT:[a-z0-9_]+]] = %{{[a-z0-9_]+}}, %[[RIGHT:[a-z0-9_]+]] = %{{[a-z0-9_]+}},
// CHECK: arith.cmpi ult, %[[LEFT]],
// CHECK: arith.cmpi ult, %[[RIGHT]],
// CHECK: arith.andi
// CHECK: scf.condition
// CHECK: %[[IN_A:[a-z0-9_]+]] = memref.load
// CHECK: %[[IN_B:[a-z0-9_]+]] = memref.load
// CHECK: %[[SMALLER:[a-z0-9_]+]] = arith.minui %[[IN_B]], %[[IN_A]]
// CHECK-DAG: %[[AT_A:[a-z0-9_]+]] = arith.cmpi eq, %[[IN_A]], %[[SMALLER]]
// CHECK-DAG: %[[AT_B:[a-z0-9_]+]] = arith.cmpi eq, %[[IN_B]], %[[SMALLER]]
// CHECK: %[[BOTH:[a-z0-9_]+]] = arith.andi %[[AT_A]], %[[AT_B]]
// CHECK: scf.if %[[BOTH]]
// CHECK: scf.while
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: scf.for
// CHECK: return
