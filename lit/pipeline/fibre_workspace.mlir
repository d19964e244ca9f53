// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "Y(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)" -f T:CSF --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(fibre-workspace)" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Entries of a fibre are added up in a vector, which is multiplied by the row that all of them meet.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[SUMS:[a-z0-9_]+]] = memref.alloc(%[[EXTENT:[a-z0-9_]+]]) {alignment = 32 : i64} : memref<?xf64>
// CHECK: memref.store %{{.+}}, %[[SUMS]][
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[BEGIN:[a-z0-9_]+]] to %[[END:[a-z0-9_]+]] step
// CHECK-NOT: memref<?x?x?xf64>
// CHECK: %[[ANY:[a-z0-9_]+]] = arith.cmpi ult, %[[BEGIN]], %[[END]]
// CHECK: scf.if %[[ANY]] {
// CHECK: memref.dealloc %[[SUMS]]
