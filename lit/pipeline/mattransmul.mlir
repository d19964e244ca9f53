// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = alpha * A(j,i) * x(j) + beta * z(i)" -f A:CSR --stage sparsified | FileCheck %s

// The transpose of A is read by rows: each entry updates y, which beta * z initialised.

// CHECK-LABEL: func.func @kernel_0(
// CHECK: arith.mulf
// CHECK-LABEL: func.func @kernel_1(
// CHECK-SAME: %[[ALPHA:[a-z0-9_]+]]: memref<f64>,
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?xf64>, %[[Y:[a-z0-9_]+]]: memref<?xf64>) ->
// CHECK: memref.load %[[ALPHA]][]
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[X]][%[[ROW]]]
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] =
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %{{.+}}[%[[ENTRY]]] : memref<?xindex>
// CHECK: memref.load %[[Y]][%[[COLUMN]]]
// CHECK: memref.store %{{.+}}, %[[Y]][%[[COLUMN]]]
