// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "s = x(i) * A(i,j) * z(j)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(rows-apart)" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// A row starts from nothing, and its sum is added to that of the rows before it, once.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for {{.+}} iter_args(%[[BEFORE:[a-z0-9_]+]] = %{{.+}}) -> (f64)
// CHECK: %[[NOTHING:[a-z0-9_]+]] = arith.constant -0.0
// CHECK: %[[ROW:[a-z0-9_]+]] = scf.for {{.+}} iter_args(%{{.+}} = %[[NOTHING]]) -> (f64)
// CHECK: %[[SUM:[a-z0-9_]+]] = arith.addf %[[BEFORE]], %[[ROW]] : f64
// CHECK-NEXT: scf.yield %[[SUM]] : f64
