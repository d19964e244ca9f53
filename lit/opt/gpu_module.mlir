// REQUIRES: llvmlite
// RUN: mlir-sparse opt %s --gpu=sm_80 | FileCheck %s
// RUN: mlir-sparse opt %s --gpu=sm_90 | FileCheck %s --check-prefix=CHIP
// RUN: mlir-sparse emit "y(j) = A(i,j) * x(i)" -f A:CSR --stage linalg | not mlir-sparse opt --gpu 2>&1 | FileCheck %s --check-prefix=RACES

// A module of one's own: loops whose iterations are apart become kernels, and others stay on the host.

// CHECK: gpu.binary @sparse_kernels [#gpu.object<#nvvm.target<chip = "sm_80">
// CHECK-SAME: .version 7.1
// CHECK-SAME: .visible .entry kernel0(
// CHIP: .target sm_90
// RACES: a loop of @kernel stays on the host: its iterations store to elements that others load or store

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch_func {{.*}}@sparse_kernels::@kernel0
// CHECK-NOT: kept_on_host
func.func @rows(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %z = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %z : tensor<?xf64>
}

// CHECK-LABEL: func.func @columns
// CHECK-NOT: gpu.launch_func
// CHECK: kept_on_host = "its iterations store to elements that others load or store"
func.func @columns(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %z = linalg.vecmat ins(%x, %A : tensor<?xf64>, tensor<?x?xf64, #CSR>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %z : tensor<?xf64>
}
