// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage gpu --target cuda:sm_90 | FileCheck %s

// Rows to rows of threads, columns across; the sum over a row's entries stays in a register, and is innermost. Blocks
// of three shapes share a kernel.

// CHECK-LABEL: gpu.func @kernel_columns(
// CHECK: scf.for %[[ROW:.+]] = %{{.+}} to %{{.+}} step
// CHECK: scf.for %[[COLUMN:.+]] = %{{.+}} to %{{.+}} step
// CHECK: %[[SUM:.+]] = scf.for %[[ENTRY:.+]] = %{{.+}} to %{{.+}} step %c1 iter_args(%{{.+}} = %cst) -> (f64) {
// CHECK: memref.load %{{.+}}[%{{.+}}, %[[COLUMN]]]
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[ROW]], %[[COLUMN]]]
// CHECK-NOT: gpu.func
// CHECK-LABEL: func.func @kernel_4_columns(
// CHECK: gpu.launch_func  @kernels::@kernel_columns blocks in ({{.+}}) threads in (%c4, %c64, %c1)
// CHECK-LABEL: func.func @kernel_32_columns(
// CHECK: gpu.launch_func  @kernels::@kernel_columns blocks in ({{.+}}) threads in (%c32, %c8, %c1)
