// RUN: mlir-sparse opt %s --linalg-generalize-named-ops --sparse-reinterpret-map -sparsification="parallelization-strategy=none" | FileCheck %s --check-prefix=LOOPS
// RUN: mlir-sparse opt %s --pass-pipeline="builtin.module(func.func(linalg-generalize-named-ops))" | FileCheck %s --check-prefix=GENERIC
// RUN: mlir-sparse opt --sparsifier="vl=4 enable-runtime-library=false" < %s | FileCheck %s --check-prefix=LLVM
// RUN: mlir-sparse opt %s --user-module | FileCheck %s --check-prefix=LLVM
// RUN: mlir-sparse opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=OP

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

// LOOPS-LABEL: func.func @spmv
// LOOPS: scf.for %[[ROW:.*]] =
// LOOPS: %[[BEGIN:.*]] = memref.load %{{.*}}[%[[ROW]]]
// LOOPS: scf.for %{{.*}} = %[[BEGIN]]
// GENERIC: linalg.generic
// GENERIC-NOT: linalg.matvec
// LLVM: llvm.func @spmv
// LLVM-NOT: sparse_tensor
// OP: "linalg.matvec"
func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
