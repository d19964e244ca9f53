// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage gpu --target cuda:sm_90 | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=KEPT

// One thread for each row: the result is written once, from 0, and never read.

// CHECK-LABEL: gpu.func @kernel_thread(
// CHECK: %[[FIRST:.+]] = arith.addi %{{.+}}, %thread_id_y : index
// CHECK: scf.for %[[ROW:.+]] = %[[FIRST]] to %arg0 step %[[STRIDE:.+]] {
// CHECK: %[[BEGIN:.+]] = memref.load %[[POSITIONS:.+]][%[[ROW]]] : memref<?xindex>
// CHECK: %[[END:.+]] = memref.load %[[POSITIONS]][
// CHECK: %[[SUM:.+]] = scf.for %[[ENTRY:.+]] = %[[BEGIN]] to %[[END]] step %c1 iter_args(%{{.+}} = %cst) -> (f64) {
// CHECK: arith.addf
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[ROW]]] : memref<?xf64>
// CHECK: gpu.return

// A block computes its rows together: threads read adjacent terms into shared memory, all loads before any store; after
// a
// barrier each thread sums up its row.

// CHECK-LABEL: memref.global "private" @kernel_staged_held : memref<2048xf64, #gpu.address_space<workgroup>> = uninitialized
// CHECK-LABEL: gpu.func @kernel_staged(
// CHECK: %[[HELD:.+]] = memref.get_global @kernel_staged_held
// CHECK: scf.for %{{.+}} step %c2048 iter_args
// CHECK-COUNT-8: arith.mulf
// CHECK: memref.store %{{.+}}, %[[HELD]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.+}} iter_args
// CHECK: memref.load %[[HELD]]
// CHECK: gpu.barrier
// CHECK: gpu.return

// Four lanes for each row: each sums every fourth entry; shuffles add up the sums, and one lane stores the result.

// CHECK-LABEL: gpu.func @kernel_4_lanes(
// CHECK: %[[LANE0:.+]] = arith.cmpi eq, %thread_id_x, %c0 : index
// CHECK: %[[MINE:.+]] = arith.addi %{{.+}}, %thread_id_x : index
// CHECK: scf.for %{{.+}} = %[[MINE]] to %{{.+}} step %c4 iter_args
// CHECK: gpu.shuffle xor %{{.+}}, %c2_i32, %c32_i32 : i32
// CHECK: gpu.shuffle xor %{{.+}}, %c1_i32, %c32_i32 : i32
// CHECK: %[[STORES:.+]] = arith.andi %{{.+}}, %[[LANE0]] : i1
// CHECK: scf.if %[[STORES]] {
// CHECK-NEXT: memref.store

// CHECK-LABEL: gpu.func @kernel_warp(
// CHECK: gpu.shuffle xor %{{.+}}, %c16_i32

// Evenly divided entries: eight for each thread, which finds its first row by bisection; rows that threads share are
// added
// atomically.

// CHECK-LABEL: gpu.func @kernel_entries(
// CHECK: scf.while
// CHECK: arith.shrui
// CHECK: scf.for %{{.+}} iter_args(%[[SO_FAR:.+]] = %cst, %[[BEFORE:.+]] = %{{.+}}) -> (f64, index) {
// CHECK: %[[OTHER:.+]] = arith.cmpi ne, %{{.+}}, %[[BEFORE]] : index
// CHECK-NEXT: scf.if %[[OTHER]] {
// CHECK-NEXT: memref.atomic_rmw addf %[[SO_FAR]]

// The host reads sizes off the arguments, and launches.

// CHECK-LABEL: func.func @kernel_thread(
// CHECK-SAME: launches = ["()", ["Launch", "kernel_thread", ["()", ["Work", ["()", ["LevelSize", "A", 0]], 256],
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %{{.+}}, %c256
// CHECK: gpu.launch_func  @kernels::@kernel_thread blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c1, %c256, %c1)
// CHECK-LABEL: func.func @kernel_entries(
// CHECK: gpu.launch_func  @kernels::@kernel_fill
// CHECK: gpu.launch_func  @kernels::@kernel_entries

// There is no allocation, copy or synchronisation.

// KEPT-NOT: memref.alloc
// KEPT-NOT: memref.copy
// KEPT-NOT: gpu.alloc
// KEPT-NOT: gpu.memcpy
