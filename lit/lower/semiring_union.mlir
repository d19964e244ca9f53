// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring min_plus | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR --semiring min_plus | FileCheck %s --check-prefix=UNION

// The result starts from infinity; a region adds x to the entries of A, and the minimum is kept.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[FAR:.+]] = arith.constant 0x7FF0000000000000 : f64
// CHECK: linalg.fill ins(%[[FAR]]
// CHECK: ^bb0(%[[ENTRY:[a-z0-9_]+]]: f64, %[[X:[a-z0-9_]+]]: f64, %[[Y:[a-z0-9_]+]]: f64):
// CHECK: %[[SUM:.+]] = sparse_tensor.unary %[[ENTRY]] : f64 to f64
// CHECK: arith.addf %{{.+}}, %[[X]] : f64
// CHECK: absent = {
// CHECK-NEXT: }
// CHECK: sparse_tensor.reduce %[[Y]], %[[SUM]],
// CHECK: arith.minimumf

// Where one of two has no entry, the other passes through.

// UNION-LABEL: func.func @kernel(
// UNION: sparse_tensor.binary
// UNION: overlap = {
// UNION: arith.minimumf
// UNION: left = {
// UNION-NEXT: ^bb0(%[[A:[a-z0-9_]+]]: f64):
// UNION-NEXT: sparse_tensor.yield %[[A]]
// UNION: right = {
// UNION-NEXT: ^bb0(%[[B:[a-z0-9_]+]]: f64):
// UNION-NEXT: sparse_tensor.yield %[[B]]
