// RUN: mlir-sparse emit "C(i,j) = A(i,j) * B(i,j)" -f A:CSR -f B:DCSR -f C:CSR | FileCheck %s

// An intersection of two formats, elementwise.

// CHECK-DAG: #[[SAME:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[SAME]], #[[SAME]], #[[SAME]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: ^bb0(%[[LEFT:[a-z0-9_]+]]: f64, %[[RIGHT:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf %[[LEFT]], %[[RIGHT]] : f64
// CHECK-NEXT: linalg.yield %[[PRODUCT]] : f64
