// RUN: mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage gpu --target cuda:sm_90 | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=KEPT

// The symbolic phase: one thread for each row counts its entries, and stores nothing else.

// CHECK-LABEL: gpu.func @kernel_count_thread(
// CHECK: scf.for %[[ROW:.+]] = %{{.+}} to %arg0 step
// CHECK: scf.while (%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %c0) : (index, index, index)
// CHECK-NOT: f64
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[ROW]]] : memref<?xindex>

// Each warp sums a part of the counts, then computes the begin of each row; no block waits for another.

// CHECK-LABEL: gpu.func @kernel_sums(
// CHECK: gpu.shuffle xor %{{.+}}, %c16_i32
// CHECK: memref.store
// CHECK-LABEL: gpu.func @kernel_begins(
// CHECK: %[[BEFORE:.+]] = scf.for %{{.+}} to %{{.+}} step %c32 iter_args
// CHECK: scf.for %{{.+}} to %{{.+}} step %c32 iter_args(%[[SO_FAR:.+]] =
// CHECK: gpu.shuffle xor %{{.+}}, %c1_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c16_i32
// CHECK: arith.addi %[[SO_FAR]], %{{.+}} : index
// CHECK-NEXT: memref.store

// The numeric phase: the same loops store entries from the begin of their row.

// CHECK-LABEL: gpu.func @kernel_fill_thread(
// CHECK: scf.for %[[ROW:.+]] = %{{.+}} to %arg0 step
// CHECK: %[[BEGIN:.+]] = memref.load %arg3[%[[ROW]]] : memref<?xindex>
// CHECK: scf.while (%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %[[BEGIN]]) : (index, index, index)
// CHECK: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[AT:.+]]: index):
// CHECK: arith.addf
// CHECK-NEXT: memref.store %{{.+}}, %{{.+}}[%[[AT]]] : memref<?xindex>
// CHECK-NEXT: memref.store %{{.+}}, %{{.+}}[%[[AT]]] : memref<?xf64>
// CHECK-NEXT: arith.addi %[[AT]], %c1

// CHECK-LABEL: func.func @kernel_count_thread(
// CHECK-LABEL: func.func @kernel_scan_all(
// CHECK: gpu.launch_func  @kernels::@kernel_sums
// CHECK: gpu.launch_func  @kernels::@kernel_begins
// CHECK-LABEL: func.func @kernel_fill_thread(

// KEPT-NOT: memref.alloc
// KEPT-NOT: atomic_rmw
// KEPT-NOT: gpu.barrier
