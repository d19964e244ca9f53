// RUN: mlir-sparse emit "Y(i,r) = T(i,j,k) * B(j,r) * C(k,r)" -f T:CSF > %t.mlir
// RUN: echo "// pipeline: builtin.module()" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=CSF
// RUN: mlir-sparse emit "D(i,j) = A(i,j) + B(j,i)" -f A:DCSR -f "B:BSR(2, 3)" -f D:COO > %t.mlir
// RUN: echo "// pipeline: builtin.module()" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=STEPS

// The output is a whole module that MLIR's parser and verifier accept, comments included.

// CSF: #sparse_tensor.encoding<{ map = (d0, d1, d2) -> (d0 : compressed, d1 : compressed, d2 : compressed) }>
// CSF: module
// CSF: linalg.generic

// STEPS: module
// STEPS: linalg.generic
