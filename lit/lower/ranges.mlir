// RUN: mlir-sparse emit "y(i) max=! x(2*i + k) where k in 0:2" | FileCheck %s
// RUN: mlir-sparse emit "y(i) max=! x(2*i + k) where k in 1:3" | FileCheck %s --check-prefix=SHIFTED

// A variable in sums only takes its loop bounds from a vector, which the body does not read.

// CHECK-DAG: #[[WINDOW:.+]] = affine_map<(d0, d1) -> (d0 * 2 + d1)>
// CHECK-DAG: #[[RANGE:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?xf64>, %[[EXTENT:[a-z0-9]+]]: tensor<?xf64>,
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[WINDOW]], #[[RANGE]],
// CHECK-SAME: ins(%[[X]], %[[EXTENT]] :
// CHECK: ^bb0(%[[IN:.+]]: f64, %{{.+}}: f64, %[[OUT:.+]]: f64):
// CHECK-NEXT: arith.maximumf %[[OUT]], %[[IN]]

// A range that starts elsewhere moves into the subscripts.

// SHIFTED: affine_map<(d0, d1) -> (d0 * 2 + d1 + 1)>
