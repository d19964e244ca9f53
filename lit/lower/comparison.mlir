// RUN: mlir-sparse emit "C(i,j) = A(i,j) > B(i,j)" -f A:CSR -f B:CSR | FileCheck %s --check-prefix=UNION
// RUN: mlir-sparse emit "C(i,j) = where(A(i,j) > x(j), A(i,j), 0)" -f A:CSR | FileCheck %s --check-prefix=CHOICE

// Operations that the sparsifier does not know are in regions: one for entries of both operands, and one for each
// alone.

// UNION-LABEL: func.func @kernel(
// UNION: sparse_tensor.binary %{{.*}} : f64, f64 to i8
// UNION: overlap = {
// UNION: arith.cmpf ogt
// UNION: arith.extui %{{.*}} : i1 to i8
// UNION: left = {
// UNION: right = {

// One sparse operand, and a dense one read within.

// CHOICE: sparse_tensor.unary %[[A:.*]] : f64 to f64
// CHOICE: present = {
// CHOICE: ^bb0(%[[STORED:.*]]: f64):
// CHOICE: arith.cmpf ogt, %[[STORED]], %{{.*}} : f64
// CHOICE: arith.select
// CHOICE: absent = {
// CHOICE-NEXT: }
