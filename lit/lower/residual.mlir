// RUN: mlir-sparse emit "y(i) = b(i) - A(i,j) * x(j)" -f A:CSR | FileCheck %s

// The rows start from b, in the same function as the product, which is subtracted entry by entry.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[ADDEND:[a-z0-9_]+]]: tensor<?xf64>, %[[Y:[a-z0-9_]+]]: tensor<?xf64>) -> tensor<?xf64>
// CHECK-NOT: linalg.fill
// CHECK: %[[START:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME: ins(%[[ADDEND]] :
// CHECK-SAME: outs(%[[Y]] :
// CHECK: ^bb0(%[[B:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: linalg.yield %[[B]] : f64
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[START]] :
// CHECK: ^bb0(%{{.+}}: f64, %{{.+}}: f64, %[[PARTIAL:[a-z0-9_]+]]: f64):
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf
// CHECK: arith.subf %[[PARTIAL]], %[[PRODUCT]] : f64
