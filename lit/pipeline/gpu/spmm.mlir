// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage gpu --target cuda:sm_90 | FileCheck %s

// Rows to rows of threads, columns across; the sum over a row's entries stays in a register, and is innermost. Blocks
// of three shapes share a kernel.

// CHECK-LABEL: gpu.func @kernel_columns(
// CHECK: scf.for %[[ROW:.+]] = %{{.+}} to %{{.+}} step
// CHECK: scf.for %[[COLUMN:.+]] = %{{.+}} to %{{.+}} step
// CHECK: %[[SUM:.+]] = scf.for %[[ENTRY:.+]] = %{{.+}} to %{{.+}} step %c1 iter_args(%{{.+}} = %cst) -> (f64) {
// CHECK: memref.load %{{.+}}[%{{.+}}, %[[COLUMN]]]
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[ROW]], %[[COLUMN]]]

// With many columns a thread computes four: it reads an entry once for all four sums.

// CHECK-LABEL: gpu.func @kernel_columns_by_4(
// CHECK: %[[SUMS:.+]]:4 = scf.for %[[AT:.+]] = %{{.+}} to %{{.+}} step %c1 iter_args
// CHECK: memref.load %{{.+}}[%[[AT]]] : memref<?xindex>
// CHECK: memref.load %{{.+}}[%[[AT]]] : memref<?xf64>
// CHECK-NOT: [%[[AT]]]
// CHECK: scf.yield %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : f64, f64, f64, f64
// CHECK: memref.store %[[SUMS]]#0
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[SUMS]]#1

// CHECK-LABEL: func.func @kernel_4_columns(
// CHECK: gpu.launch_func  @kernels::@kernel_columns blocks in ({{.+}}) threads in (%c4, %c64, %c1)
// CHECK-LABEL: func.func @kernel_32_columns(
// CHECK: gpu.launch_func  @kernels::@kernel_columns blocks in ({{.+}}) threads in (%c32, %c8, %c1)
// CHECK-LABEL: func.func @kernel_128_columns(
// CHECK-SAME: ["Work", ["()", ["AxisSize", "B", 1]], 128]
// CHECK: gpu.launch_func  @kernels::@kernel_columns_by_4 blocks in ({{.+}}) threads in (%c32, %c8, %c1)
