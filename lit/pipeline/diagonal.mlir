// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "d(i) = A(i,i)" -f A:CSR --stage sparsified | FileCheck %s

// The diagonal is extracted first, as a sparse vector: the loop visits its entries.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK: %[[PLACE:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[PLACE]]]
// CHECK-NOT: scf.for
// CHECK: return
