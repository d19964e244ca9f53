// RUN: mlir-sparse emit "s = X(i,j,k) * Y(i,j,k)" -f X:CSF -f Y:CSF | FileCheck %s

// Two tensors are intersected on every level, and the products are summed to a scalar.

// CHECK-DAG: #[[SAME:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[SCALAR:.+]] = affine_map<(d0, d1, d2) -> ()>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[SAME]], #[[SAME]], #[[SCALAR]]]
// CHECK-SAME: iterator_types = ["reduction", "reduction", "reduction"]
