// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "Y(i,j) = T(i,j,k) * v(k)" -f T:CSF -f Y:DCSR --stage sparsified | FileCheck %s
// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage sparsified | FileCheck %s --check-prefix=ROWS

// Fibers are short: eight entries are read from where one begins, and those of the next ones count as zeros.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[FIBER:[a-z0-9_]+]] = %c0
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[POSITIONS:[a-z0-9_]+]][%[[FIBER]]]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %[[POSITIONS]]
// CHECK-COUNT-2: memref.prefetch
// CHECK: %[[BEHIND:[a-z0-9_]+]] = arith.addi %[[BEGIN]], %c8
// CHECK: %[[INSIDE:[a-z0-9_]+]] = arith.andi
// CHECK: %[[REACHED:[a-z0-9_]+]]:2 = scf.if %[[INSIDE]]
// CHECK: vector.load %{{.+}}[%[[BEGIN]]] : memref<?xf64>, vector<8xf64>
// CHECK: vector.from_elements
// CHECK: %[[COUNT:[a-z0-9_]+]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK: %[[OWN:[a-z0-9_]+]] = vector.create_mask %[[COUNT]] : vector<8xi1>
// CHECK: arith.select %[[OWN]]
// CHECK: vector.reduction <add>
// CHECK: arith.minui %[[BEHIND]], %[[END]]

// What is longer goes on from there.
// CHECK: scf.for %{{.+}} = %[[REACHED]]#1 to %[[END]] step %{{.+}} iter_args(%{{.+}} = %[[REACHED]]#0)

// ROWS-NOT: vector.create_mask %
// ROWS: return
