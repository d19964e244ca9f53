// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) > B(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified | FileCheck %s

// Rows are merged: an entry that stands alone is compared with zero. Results are truth values, bytes.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: memref<?xi8>
// CHECK: scf.while
// CHECK: arith.cmpf ogt
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: scf.for
// CHECK: arith.cmpf
// CHECK: return
