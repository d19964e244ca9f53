// RUN: mlir-sparse emit "s(i) = A(i,j)" -f A:CSR | FileCheck %s

// Only the right side has j: it is summed, without a further factor.

// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: ^bb0(%[[ENTRY:[a-z0-9_]+]]: f64, %[[PARTIAL:[a-z0-9_]+]]: f64):
// CHECK-NEXT: %[[TOTAL:[a-z0-9_]+]] = arith.addf %[[PARTIAL]], %[[ENTRY]] : f64
// CHECK-NEXT: linalg.yield %[[TOTAL]] : f64
