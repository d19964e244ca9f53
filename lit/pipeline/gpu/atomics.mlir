// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSC --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=COLUMNS
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:DIA --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=OWNED
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:BSR --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=OWNED
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSC --stage explain --target cuda:sm_90 | FileCheck %s --check-prefix=WHY

// Atomics only where threads share elements: in the sums over the columns of CSC, after the result is set to 0. One
// thread
// has each row of DIA and of blocks.

// COLUMNS-LABEL: gpu.func @kernel_fill(
// COLUMNS-LABEL: gpu.func @kernel_thread(
// COLUMNS: memref.atomic_rmw addf
// OWNED: gpu.func
// OWNED-NOT: atomic_rmw
// OWNED: gpu.return

// WHY: on threads: atomic, because j is summed and outermost in A(i,j)
// WHY: results are added atomically, in an order that varies
