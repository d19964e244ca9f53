// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --diff prefetch-streams | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" --diff prefetch-streams | FileCheck %s --check-prefix=DENSE --allow-empty
// RUN: env MLIR_SPARSE_VECTOR_LANES=8 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --diff prefetch-streams | FileCheck %s --check-prefix=LANES
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL --diff prefetch-streams | FileCheck %s --check-prefix=SLOTS

// Chunks of eight entries, each after a prefetch of entries at the prefetch distance, which may be out of bounds: a
// prefetch never faults.
// Of the two loops that prefetch-gathers has made, the second prefetches entries alone.

// CHECK: scf.for %[[ROW:[a-z0-9_]+]] =
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.for %[[FIRST:[a-z0-9_]+]] = %{{.+}} to %[[END:[a-z0-9_]+]] step %c8{{[_0-9]*}} iter_args
// CHECK: %[[LATER:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c{{[0-9]+}}
// CHECK-NEXT: memref.prefetch %{{.+}}[%[[LATER]]], read
// CHECK-NEXT: memref.prefetch %{{.+}}[%[[LATER]]], read
// CHECK-NOT: memref.prefetch
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[COUNT:[a-z0-9_]+]] = arith.minui %[[LEFT]]
// CHECK: scf.for %[[NUMBER:[a-z0-9_]+]] = {{.+}} to %[[COUNT]]
// CHECK: %[[PLACE:[a-z0-9_]+]] = arith.addi %[[FIRST]], %[[NUMBER]]
// CHECK-COUNT-2: memref.load %{{.+}}[%[[PLACE]]]
// CHECK: scf.for %[[OTHER:[a-z0-9_]+]] = {{.+}} step %c8{{[_0-9]*}} iter_args
// CHECK: %[[FURTHER:[a-z0-9_]+]] = arith.addi %[[OTHER]], %c{{[0-9]+}}
// CHECK-NEXT: memref.prefetch %{{.+}}[%[[FURTHER]]], read
// CHECK-NEXT: memref.prefetch %{{.+}}[%[[FURTHER]]], read
// CHECK-NOT: memref.prefetch

// The lanes of vectors are chunks already.
// LANES: scf.for %[[FIRST:[a-z0-9_]+]] = {{.+}} step %c8 {{.+}} -> (vector<8xf64>)
// LANES: %[[LATER:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c{{[0-9]+}}
// LANES-COUNT-2: memref.prefetch %{{.+}}[%[[LATER]]], read
// LANES-NOT: memref.prefetch

// DENSE-NOT: memref.prefetch

// A slot of each dense row: the accumulators, and the slot's entries at the same distance.
// SLOTS: scf.for %[[FIRST:[a-z0-9_]+]] = {{.+}} step %c8
// SLOTS: %[[LATER:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c{{[0-9]+}}
// SLOTS: memref.prefetch %{{.+}}[%[[LATER]]], read
// SLOTS: arith.addi %[[LATER]], %[[SLOT:[a-z0-9_]+]]
// SLOTS: memref.prefetch
// SLOTS: arith.addi %[[LATER]], %[[SLOT]]
// SLOTS: memref.prefetch
// SLOTS-NOT: memref.prefetch
