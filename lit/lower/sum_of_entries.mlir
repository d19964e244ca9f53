// RUN: mlir-sparse emit "s = A(i,j)" -f A:DCSR | FileCheck %s

// A scalar target is a tensor of rank 0: every loop is a reduction, and the result's map has no result.

// CHECK-DAG: #[[SCALAR:.+]] = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: -> tensor<f64>
// CHECK: linalg.generic
// CHECK-SAME: #[[SCALAR]]]
// CHECK-SAME: iterator_types = ["reduction", "reduction"]
// CHECK: arith.addf
