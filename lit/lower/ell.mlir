// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:ELL | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL | FileCheck %s --check-prefix=SLOTS

// ELL with a length for each row is an encoding of the dialect; ELL by slots is read in level space.

// CHECK: #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : loose_compressed) }>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// SLOTS: // A.levels = levels of A as
// SLOTS: #[[LEVELS:.+]] = #sparse_tensor.encoding<{ map = (d0, d1, d2) -> (d0 : dense, d1 : dense, d2 : loose_compressed) }>
// SLOTS: linalg.generic
// SLOTS-SAME: iterator_types = ["reduction", "parallel", "reduction"]
