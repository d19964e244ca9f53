// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage linalg | FileCheck %s

// One generic reads the matrix as it is stored and accumulates in the zeroed output.

// CHECK-DAG: #[[MATRIX:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: tensor<?x?xf64, #[[CSR]]>,
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf64>,
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: tensor<?xf64>) -> tensor<?xf64>
// CHECK-DAG: %[[ZERO:[a-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK: %[[START:[a-z0-9_]+]] = linalg.fill ins(%[[ZERO]] : f64) outs(%[[Y]] : tensor<?xf64>)
// CHECK: %[[SUM:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME: indexing_maps = [#[[MATRIX]], #[[COLUMN]], #[[ROW]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins(%[[A]], %[[X]] :
// CHECK-SAME: outs(%[[START]] :
// CHECK: ^bb0(%[[ENTRY:[a-z0-9_]+]]: f64, %[[ELEMENT:[a-z0-9_]+]]: f64, %[[PARTIAL:[a-z0-9_]+]]: f64):
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf %[[ENTRY]], %[[ELEMENT]] : f64
// CHECK: %[[TOTAL:[a-z0-9_]+]] = arith.addf %[[PARTIAL]], %[[PRODUCT]] : f64
// CHECK: linalg.yield %[[TOTAL]] : f64
// CHECK-NOT: linalg.generic
// CHECK: return %[[SUM]] : tensor<?xf64>
