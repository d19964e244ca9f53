// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage llvm | FileCheck %s --check-prefix=DIALECT
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage llvmir | FileCheck %s --check-prefix=LLVM

// The last stage has only the LLVM dialect, with the function that the launcher calls.

// DIALECT-NOT: unrealized_conversion_cast
// DIALECT-NOT: {{(memref|scf|arith|vector|linalg|sparse_tensor|func)\.}}
// DIALECT: llvm.func @kernel(
// DIALECT-NOT: unrealized_conversion_cast
// DIALECT-NOT: {{ (memref|scf|arith|vector|linalg|sparse_tensor|func)\.}}
// DIALECT: llvm.func @_mlir_ciface_kernel(
// DIALECT-NOT: unrealized_conversion_cast

// LLVM: define {{.*}} @kernel(
// LLVM: fadd double
// LLVM: define {{.*}} @_mlir_ciface_kernel(
