// RUN: mlir-sparse emit "C(i,j) = L(i,j) * (L(i,k) * L(k,j))" -f L:CSR -f C:CSR | FileCheck %s

// One generic of three operands: the product is summed where the mask has entries, and never formed by itself. The factor
// that is read by columns is converted before.

// CHECK: // L_converted = natively converted L
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK-DAG: #[[CSC:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>
// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: tensor<?x?xf64, #[[CSR]]>, tensor<?x?xf64, #[[CSR]]>, tensor<?x?xf64, #[[CSC]]>
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
