// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f "A:BSR(2, 3)" --stage sparsified | FileCheck %s

// Two loops over blocks, two over the constant extents of one.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[BLOCK_ROW:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for
// CHECK: scf.for %{{[a-z0-9_]+}} = %c0 to %c2
// CHECK: scf.for %{{[a-z0-9_]+}} = %c0 to %c3
// CHECK: arith.mulf
// CHECK-NOT: arith.remui
// CHECK-NOT: arith.divui
// CHECK: return
