// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "S(i,j) = B(i,j) * C(i,k) * D(k,j)" -f B:CSR -f S:CSR --stage sparsified | FileCheck %s

// A sum of products at each entry of B only: no dense product of C and D is stored. The result has the entries of B, so
// only
// values are stored, at B's positions.

// CHECK-NOT: memref.alloc
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: memref<?x?xf64>, %[[D:[a-z0-9_]+]]: memref<?x?xf64>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>)
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ROW]]]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: %[[TOTAL:[a-z0-9_]+]] = scf.for %[[K:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[C]][%[[ROW]], %[[K]]]
// CHECK: memref.load %[[D]][%[[K]], %[[COLUMN]]]
// CHECK: %[[SUM:[a-z0-9_]+]] = arith.addf
// CHECK: scf.yield %[[SUM]]
// CHECK: memref.store %[[TOTAL]], %[[VALUES]][%[[ENTRY]]]
// CHECK-NOT: memref.store
// CHECK: return %[[VALUES]]
