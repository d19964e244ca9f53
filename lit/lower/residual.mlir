// RUN: mlir-sparse emit "y(i) = b(i) - A(i,j) * x(j)" -f A:CSR | FileCheck %s

// b is copied once; the product is subtracted in place, entry by entry.

// CHECK-LABEL: func.func @kernel_0(
// CHECK: ^bb0(%[[B:[a-z0-9_]+]]: f64, %{{.+}}: f64):
// CHECK-NEXT: linalg.yield %[[B]] : f64
// CHECK-LABEL: func.func @kernel_1(
// CHECK-SAME: %[[Y:[a-z0-9_]+]]: tensor<?xf64>) -> tensor<?xf64>
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[Y]] :
// CHECK: ^bb0(%{{.+}}: f64, %{{.+}}: f64, %[[PARTIAL:[a-z0-9_]+]]: f64):
// CHECK: %[[PRODUCT:[a-z0-9_]+]] = arith.mulf
// CHECK: arith.subf %[[PARTIAL]], %[[PRODUCT]] : f64
