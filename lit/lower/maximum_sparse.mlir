// RUN: mlir-sparse emit "y(i) = max(j : A(i,j))" -f A:DCSR | FileCheck %s

// The maximum of the entries, and of a zero if there are fewer entries than columns: no zero is read. Rows of CSR see
// that themselves.

// CHECK-NOT: natively converted
// CHECK: func.func @kernel_0(%{{.*}}: tensor<?x?xf64, #
// CHECK: sparse_tensor.reduce
// CHECK: arith.maximumf
// CHECK: func.func @kernel_1(%{{.*}}: tensor<?x?xf64, #
// CHECK: sparse_tensor.unary
// CHECK: func.func @kernel_3(
// CHECK: arith.cmpi slt
// CHECK: arith.select

// RUN: mlir-sparse emit "y(i) = max(j : A(i,j))" -f A:CSR | FileCheck %s --check-prefix=ROWS

// ROWS: func.func @kernel(%{{.*}}: tensor<?x?xf64, #
// ROWS: sparse_tensor.reduce
// ROWS: arith.maximumf
// ROWS-NOT: func.func
