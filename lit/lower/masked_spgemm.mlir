// RUN: mlir-sparse emit "C(i,j) = L(i,j) * (L(i,k) * L(k,j))" -f L:CSR -f C:CSR | FileCheck %s

// One generic of three operands: the product is summed where the mask has entries, and never formed by itself. No
// factor is converted.

// CHECK-NOT: converted
// CHECK-DAG: #[[MASK:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[LEFT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[RIGHT:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[MASK]], #[[LEFT]], #[[RIGHT]], #[[MASK]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
