// RUN: mlir-sparse emit "Y(i,k) = A(i,j) * X(j,k)" -f A:CSR | FileCheck %s

// Loops run i, j, k: the dense columns k are innermost, where rows of X and Y are contiguous.

// CHECK-DAG: #[[LEFT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[RIGHT:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[OUTPUT:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[OUTPUT]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-SAME: sorted = true
// CHECK-NOT: linalg.generic
