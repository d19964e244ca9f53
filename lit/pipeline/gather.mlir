// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(I(i),j) * x(j)" -f A:CSR -t I:i64 --stage sparsified | FileCheck %s

// The rows are gathered first: the loops are those of any matrix, without the places as an operand.

// CHECK-LABEL: func.func @kernel(
// CHECK-NOT: memref<?xi64>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: return
