// RUN: mlir-sparse emit "C(i,j) = where(A(i,j) > 1, A(i,j), B(i,j))" -f A:CSR -f B:CSR -f C:CSR | FileCheck %s

// A choice between two sparse tensors has entries where either has one: a region for both, and one for each alone.

// CHECK-LABEL: func.func @kernel(
// CHECK: linalg.generic
// CHECK: sparse_tensor.binary
// CHECK-NEXT: overlap = {
// CHECK: arith.cmpf ogt
// CHECK: left = {
// CHECK: arith.select
// CHECK: right = {
// CHECK: sparse_tensor.yield
// CHECK-NOT: linalg.generic
