// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j) if M(i,j)" -f A:CSR -f B:CSC -f M:CSR -f C:CSR | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j) if not M(i,j)" -f A:CSR -f M:CSR -f C:CSR | FileCheck %s --check-prefix=WITHOUT

// One loop nest: the product is computed where M has an entry, and M's value is not read.

// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK: ^bb0(%[[M:[a-z0-9_]+]]: f64, %[[A:[a-z0-9_]+]]: f64, %[[B:[a-z0-9_]+]]: f64, %[[C:[a-z0-9_]+]]: f64):
// CHECK: %[[PRODUCT:.+]] = sparse_tensor.binary %[[A]], %[[B]]
// CHECK: %[[KEPT:.+]] = sparse_tensor.binary %[[M]], %[[PRODUCT]]
// CHECK: ^bb0(%{{.+}}: f64, %[[VALUE:[a-z0-9_]+]]: f64):
// CHECK-NEXT: sparse_tensor.yield %[[VALUE]]
// CHECK: left = {
// CHECK-NEXT: }
// CHECK: right = {
// CHECK-NEXT: }
// CHECK: arith.addf %[[C]], %[[KEPT]]
// CHECK-NOT: linalg.generic

// The complement: no entry where both have one, the value where M has none.

// WITHOUT-LABEL: func.func @kernel(
// WITHOUT: sparse_tensor.binary
// WITHOUT: overlap = {
// WITHOUT-NEXT: }
// WITHOUT: left = {
// WITHOUT-NEXT: }
// WITHOUT: right = {
// WITHOUT-NEXT: ^bb0(%[[A:[a-z0-9_]+]]: f64):
// WITHOUT-NEXT: sparse_tensor.yield %[[A]]
