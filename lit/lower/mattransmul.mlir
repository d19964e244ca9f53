// RUN: mlir-sparse emit "y(j) = alpha * A(i,j) * x(i) + beta * z(j)" -f A:CSR | FileCheck %s

// The dense addend starts the output; the transposed product adds to it in the order in which A is stored: rows.

// CHECK-DAG: #[[SCALAR:.+]] = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[MATRIX:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[COLUMN:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @kernel_0(
// CHECK-NOT: tensor<?x?xf64
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK: arith.mulf
// CHECK-LABEL: func.func @kernel_1(
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: tensor<?xf64>) -> tensor<?xf64>
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[SCALAR]], #[[MATRIX]], #[[ROW]], #[[COLUMN]]]
// CHECK-SAME: iterator_types = ["reduction", "parallel"]
// CHECK-SAME: outs(%[[Y]] :
// CHECK: arith.addf %out,
