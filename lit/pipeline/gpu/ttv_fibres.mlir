// RUN: mlir-sparse emit "C(i,j) = A(i,j,k) * b(k)" -f A:CSF -f C:DCSR --stage gpu --target cuda:sm_90 | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,j,k) * b(k)" -f A:CSF -f C:DCSR --stage explain --target cuda:sm_90 | FileCheck %s --check-prefix=TOLD

// The result has an entry for each fibre of A, and its levels: values are all that is stored, each at its fibre's place.

// CHECK-LABEL: gpu.func @kernel_thread(
// CHECK-NOT: kernel_count
// CHECK: scf.for %[[FIBRE:.+]] = %{{.+}} to %{{.+}} step %c1
// CHECK: %[[SUM:.+]] = scf.for
// CHECK: arith.addf
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[FIBRE]]] : memref<?xf64>
// CHECK-LABEL: gpu.func @kernel_4_lanes(
// CHECK-NOT: kernel_count

// TOLD: on threads: lanes each fibre of A(i,j,k), as many as it has terms of k
