// RUN: mlir-sparse emit "d(i) = A(i,i)" -f A:CSR | FileCheck %s

// The sparsifier needs an index variable for each level: the diagonal is extracted first, as a sparse vector.

// CHECK: // A.picked = elements A(i,i) of A as f64[?] (i) -> (i : compressed):
// CHECK: #[[VECTOR:.+]] = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<?xf64, #[[VECTOR]]>
// CHECK: iterator_types = ["parallel"]
// CHECK-NOT: tensor<?x?xf64
