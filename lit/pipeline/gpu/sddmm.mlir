// RUN: mlir-sparse emit "C(i,j) = S(i,j) * A(i,k) * B(k,j)" -f S:CSR -f C:CSR --stage gpu --target cuda:sm_90 | FileCheck %s

// Several lanes for each entry share the sum over k, which is stored at the entry's position in the structure of S.
// Nothing is appended, and nothing is added atomically.

// CHECK-LABEL: gpu.func @kernel_4_lanes(
// CHECK-NOT: atomic_rmw
// CHECK: %[[FIRST:.+]] = scf.while
// CHECK: scf.for %{{.+}} = %c0 to %c8 step %c1 iter_args
// CHECK: %[[ENTRY:.+]] = arith.minui
// CHECK: scf.while
// CHECK: scf.for %[[K:.+]] = %thread_id_x to %{{.+}} step %c4 iter_args
// CHECK: gpu.shuffle xor %{{.+}}, %c2_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c1_i32
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.+}}, %{{.+}}[%[[ENTRY]]] : memref<?xf64>
