// RUN: mlir-sparse emit "D(i,j,k) = X(i,j,k) + Y(i,j,k)" -f X:CSF -f Y:CSF -f D:CSF | FileCheck %s

// 3-way tensors add into storage of the same kind.

// CHECK-DAG: #[[CSF:.+]] = #sparse_tensor.encoding<
// CHECK-LABEL: func.func @kernel(
// CHECK: tensor.empty({{.*}}) : tensor<?x?x?xf64, #[[CSF]]>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-COUNT-1: arith.addf
// CHECK-NOT: linalg.generic
