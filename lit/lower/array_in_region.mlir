// RUN: mlir-sparse emit "C(i,j) = A(i,j) * B(i,j) + D(i,j)" -f A:CSR -f C:CSR -t A:i32 -t B:i32 -t D:i32 -t C:i32 --semiring max_plus | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j) * B(i,j) + D(i,j)" -f A:CSR -f C:CSR -t A:i32 -t B:i32 -t D:i32 -t C:i32 --semiring max_plus --stage sparsified | FileCheck %s --check-prefix LOOPS

// Elements of arrays come first: after a value of the region that is read twice, the sparsifier would load them before
// their coordinates, and its module would not verify.

// CHECK: ^bb0(%{{.+}}: i32, %[[B:.+]]: i32, %[[D:.+]]: i32, %{{.+}}: i32):
// CHECK: sparse_tensor.unary
// CHECK: ^bb0(%[[A:.+]]: i32):
// CHECK-NEXT: arith.addi %[[B]], %[[A]]
// CHECK: arith.maxsi %[[D]], %
// LOOPS: scf.for
// LOOPS: arith.maxsi
