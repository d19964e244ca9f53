// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(j,i) = A(i,j)" -f A:CSR -f C:CSR --stage sparsified | FileCheck %s

// The loops insert by the rows of A, which are columns of C; a native conversion after the module makes rows of them.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: math.cttz
// CHECK: return
