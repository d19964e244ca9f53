// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR > %t.mlir
// RUN: %python -c "from mlir_sparse.pipeline import sparsifier; print('// pipeline:', sparsifier(8))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// With eight lanes on any host: entries and coordinates are loaded under a mask, x is gathered, and the lanes are added
// once for each row.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = {{.*}} -> (vector<8xf64>)
// CHECK: %[[MASK:[a-z0-9_]+]] = vector.create_mask
// CHECK: vector.maskedload %{{[a-z0-9_]+}}[%[[ENTRY]]], %[[MASK]]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = vector.maskedload %{{[a-z0-9_]+}}[%[[ENTRY]]], %[[MASK]]
// CHECK: vector.gather %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] [%[[COLUMNS]]], %[[MASK]]
// CHECK: arith.select %[[MASK]]
// CHECK: vector.reduction <add>
