// RUN: mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR | FileCheck %s

// A union: the payload adds, and nothing is accumulated.

// CHECK-DAG: #[[SAME:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<
// CHECK-LABEL: func.func @kernel(
// CHECK: tensor.empty({{.*}}) : tensor<?x?xf64, #[[CSR]]>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[SAME]], #[[SAME]], #[[SAME]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: ^bb0(%[[LEFT:[a-z0-9_]+]]: f64, %[[RIGHT:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: %[[SUM:[a-z0-9_]+]] = arith.addf %[[LEFT]], %[[RIGHT]] : f64
// CHECK-NEXT: linalg.yield %[[SUM]] : f64
