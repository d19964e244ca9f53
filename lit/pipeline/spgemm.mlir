// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified | FileCheck %s

// A row of C is expanded: dense values, flags of what is filled and a list of it; then sorted and inserted in order.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[VALUES:[a-z0-9_]+]] = memref.alloc(%{{.+}}) : memref<?xf64>
// CHECK: %[[FILLED:[a-z0-9_]+]] = memref.alloc(%{{.+}}) : memref<?xi1>
// CHECK: %[[ADDED:[a-z0-9_]+]] = memref.alloc(%{{.+}}) : memref<?xindex>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load %[[VALUES]][%[[COLUMN:[a-z0-9_]+]]]
// CHECK: memref.load %[[FILLED]][%[[COLUMN]]]
// CHECK: memref.store %[[COLUMN]], %[[ADDED]][
// CHECK: memref.store %{{.+}}, %[[VALUES]][%[[COLUMN]]]
// CHECK: call @_sparse_hybrid_qsort
// CHECK: call @"_insert_dense_compressed
// CHECK-DAG: memref.dealloc %[[VALUES]]
// CHECK-DAG: memref.dealloc %[[FILLED]]
// CHECK-DAG: memref.dealloc %[[ADDED]]
// CHECK: return
