// RUN: %python -c "import mlir_sparse as ms; f = ms.operator(lambda a, b: a - b, left='keep'); print(ms.compile('C(i,j) = f(A(i,j), B(i,j))', A='f64[?,?] CSR', B='f64[?,?] CSR', f=f).ir('linalg'))" | FileCheck %s

// The regions of a user's operator: the difference for two entries, the first alone, and no entry for the second alone.

// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK: sparse_tensor.binary
// CHECK-NEXT: overlap = {
// CHECK: %[[DIFFERENCE:[a-z0-9_]+]] = arith.subf
// CHECK: sparse_tensor.yield %[[DIFFERENCE]]
// CHECK: left = {
// CHECK-NEXT: ^bb0(%[[FIRST:[a-z0-9_]+]]: f64):
// CHECK-NEXT: sparse_tensor.yield %[[FIRST]]
// CHECK: right = {
// CHECK-NEXT: }
// CHECK-NOT: linalg.generic
