// RUN: mlir-sparse emit "y(i) = x(2*i + k) * w(k)" | FileCheck %s

// Subscripts that are sums of multiples of variables are affine expressions of the map, here a strided convolution.

// CHECK-DAG: #[[WINDOW:.+]] = affine_map<(d0, d1) -> (d0 * 2 + d1)>
// CHECK-DAG: #[[FILTER:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[WINDOW]], #[[FILTER]],
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
