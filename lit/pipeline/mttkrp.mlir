// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)" -f B:CSF --stage sparsified | FileCheck %s

// The levels of B outside, rows of the factors inside: each entry multiplies two rows, and adds to one of A.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: memref<?x?xf64>, %[[D:[a-z0-9_]+]]: memref<?x?xf64>, %[[A:[a-z0-9_]+]]: memref<?x?xf64>)
// CHECK: scf.for %[[I:[a-z0-9_]+]] =
// CHECK: scf.for %[[J:[a-z0-9_]+]] =
// CHECK: scf.for %[[K:[a-z0-9_]+]] =
// CHECK: scf.for %[[COLUMN:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[A]][%[[ROW:[a-z0-9_]+]], %[[COLUMN]]]
// CHECK: memref.load %[[C]][%{{.+}}, %[[COLUMN]]]
// CHECK: memref.load %[[D]][%{{.+}}, %[[COLUMN]]]
// CHECK: memref.store %{{.+}}, %[[A]][%[[ROW]], %[[COLUMN]]]
// CHECK-NOT: memref.alloc
