// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "a = B(i,j,k) * C(i,j,k)" -f B:CSF -f C:CSF --stage sparsified | FileCheck %s

// Three nested loops intersect three levels of two tensors; the sum stays in a register.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[SUM:[a-z0-9_]+]]: memref<f64>) ->
// CHECK: scf.while
// CHECK: scf.if
// CHECK: scf.while
// CHECK: scf.if
// CHECK: scf.while
// CHECK: scf.if
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: memref.store %{{.+}}, %[[SUM]][]
// CHECK-NOT: scf.while
