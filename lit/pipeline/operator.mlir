// RUN: %python -c "import mlir_sparse as ms; f = ms.operator(lambda a, b: a - b, left='keep'); print(ms.compile('C(i,j) = f(A(i,j), B(i,j))', A='f64[?,?] CSR', B='f64[?,?] CSR', f=f).ir('sparsified'))" | FileCheck %s

// Rows are merged while both last, and what is left of the first is copied; what is left of the second gets no loop.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.if
// CHECK: arith.subf
// CHECK: scf.for
// CHECK-NOT: arith.subf
// CHECK: memref.store {{.*}} : memref<?xf64>
// CHECK-NOT: scf.for
// CHECK: return
