// RUN: mlir-sparse emit "C(i,j) = A(i,j) * B(i,j) * D(i,j)" -f A:CSR -f C:CSR -t A:i32 -t B:i32 -t D:i32 -t C:i32 --semiring max_plus | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j) * B(i,j) * D(i,j)" -f A:CSR -f C:CSR -t A:i32 -t B:i32 -t D:i32 -t C:i32 --semiring max_plus --stage sparsified | FileCheck %s --check-prefix LOOPS

// Elements of arrays get operations of their own: after a value of the region that is read twice, the sparsifier would
// load them before their coordinates, and its module would not verify. Of these operations none is left in loops.

// CHECK: ^bb0(%{{.+}}: i32, %[[B:.+]]: i32, %[[D:.+]]: i32, %{{.+}}: i32):
// CHECK: sparse_tensor.unary
// CHECK: ^bb0(%[[A:.+]]: i32):
// CHECK-NEXT: arith.addi %[[A]], %[[B]]
// CHECK: %[[OPPOSITE:.+]] = arith.muli %[[D]], %
// CHECK-NEXT: %[[AGAIN:.+]] = arith.muli %[[OPPOSITE]], %
// CHECK-NEXT: arith.addi %{{.+}}, %[[AGAIN]]
// LOOPS: scf.for
// LOOPS-NOT: arith.muli
// LOOPS: arith.addi
