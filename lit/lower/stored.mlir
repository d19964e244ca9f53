// RUN: mlir-sparse emit "C(i,j) = stored(exp(A(i,j)))" -f A:CSR | FileCheck %s

// exp(0) is 1, but `stored` selects stored entries: the result has the operand's storage.

// CHECK-NOT: natively converted
// CHECK: func.func @kernel(%{{.*}}: tensor<?x?xf64, #
// CHECK: sparse_tensor.unary
// CHECK: math.exp
// CHECK: absent = {
// CHECK-NEXT: }
