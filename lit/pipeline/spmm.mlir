// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage sparsified | FileCheck %s

// The rows of B and C are walked innermost, at stride 1, once for each entry of A.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[B:[a-z0-9_]+]]: memref<?x?xf64>, %[[C:[a-z0-9_]+]]: memref<?x?xf64>)
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ROW]]]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: %[[VALUE:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xf64>
// CHECK: scf.for %[[J:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[C]][%[[ROW]], %[[J]]]
// CHECK: memref.load %[[B]][%[[COLUMN]], %[[J]]]
// CHECK: memref.store %{{.+}}, %[[C]][%[[ROW]], %[[J]]]
// CHECK-NOT: scf.for
