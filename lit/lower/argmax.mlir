// RUN: mlir-sparse emit "y(i) = argmax(j : A(i,j))" -f A:CSR | FileCheck %s

// A native step between the loops finds the position of the greatest value, in any storage.

// CHECK: // t.1 = positions in A as i64[?]
// CHECK-NOT: natively converted
// CHECK: func.func @kernel(
