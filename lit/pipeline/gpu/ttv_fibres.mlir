// RUN: mlir-sparse emit "C(i,j) = A(i,j,k) * b(k)" -f A:CSF -f C:DCSR --stage gpu --target cuda:sm_90 | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = B(i,j) * A(i,j,k) * b(k)" -f A:CSF -f C:DCSR --stage gpu --target cuda:sm_90 | FileCheck %s --check-prefix=PLACES
// RUN: mlir-sparse emit "C(i,j) = A(i,j,k) * b(k)" -f A:CSF -f C:DCSR --stage explain --target cuda:sm_90 | FileCheck %s --check-prefix=TOLD

// The result has the levels of A above its fibres, and a value for each fibre: the kernel computes a vector from a
// matrix
// whose rows are the fibres. There is no symbolic phase.

// CHECK-NOT: kernel_count
// CHECK-LABEL: gpu.func @kernel_thread(
// CHECK: scf.for %[[FIBRE:.+]] = %{{.+}} to %{{.+}} step
// CHECK: %[[SUM:.+]] = scf.for
// CHECK: arith.addf
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[FIBRE]]] : memref<?xf64>
// CHECK-LABEL: gpu.func @kernel_warp(
// CHECK-NOT: kernel_count

// If other operands are read at the coordinates above the fibres, values are stored at their fibres' positions.

// PLACES-LABEL: gpu.func @kernel_thread(
// PLACES-NOT: kernel_count
// PLACES: scf.for %[[FIBRE:.+]] = %{{.+}} to %{{.+}} step %c1
// PLACES: %[[SUM:.+]] = scf.for
// PLACES: memref.store %[[SUM]], %{{.+}}[%[[FIBRE]]] : memref<?xf64>

// TOLD: A.fibres is A as its fibres below 2 levels
// TOLD: C has C.rows below the first 2 levels of A
