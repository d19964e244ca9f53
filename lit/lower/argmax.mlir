// RUN: mlir-sparse emit "y(i) = argmax(j : A(i,j))" -f A:CSR | FileCheck %s

// Where the greatest value is, is found between the loops, in storage as it is.

// CHECK: // t.1 = positions in A as i64[?]
// CHECK-NOT: natively converted
// CHECK: func.func @kernel(
