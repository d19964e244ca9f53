// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:DIA | FileCheck %s

// The dialect has no encoding for diagonals: the operand is read in level space, and x at the sum of levels that is its
// subscript.

// CHECK: // A.levels = levels of A as
// CHECK: #[[SUM:.+]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK: #[[LEVELS:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : dense) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?x?xf64, #[[LEVELS]]>
// CHECK: linalg.generic
// CHECK-SAME: #[[SUM]]
// CHECK-SAME: iterator_types = ["reduction", "parallel"]
