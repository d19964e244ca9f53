// RUN: mlir-sparse emit "Y(i,j) = T(i,j,k) * v(k)" -f T:CSF -f Y:DCSR | FileCheck %s
// RUN: mlir-sparse emit "Y(i,j) = T(i,j,k) * v(k)" -f T:CSF -f Y:CSR | FileCheck %s --check-prefix=INSERTED

// Y has the levels of T above its fibers; the kernel multiplies a matrix of fibers by a vector.

// CHECK: // T.fibres = fibres of T
// CHECK: // Y = below 2 levels of T Y.rows
// CHECK-DAG: #[[FIBERS:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[VECTOR:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?x?xf64, #[[CSR]]>
// CHECK-SAME: -> tensor<?xf64>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[FIBERS]], #[[VECTOR]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction"]

// In other storage the fibers of T that end in a vector are inserted.

// INSERTED: #[[TENSOR:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// INSERTED-LABEL: func.func @kernel(
// INSERTED: linalg.generic
// INSERTED-SAME: iterator_types = ["parallel", "parallel", "reduction"]
