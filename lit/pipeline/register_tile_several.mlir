// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = S(i,j) * X(i,k) * Y(j,k)" -f S:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Four entries of a row are computed together: each has a vector accumulator, and they share X's row.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?x?xf64>, %[[Y:[a-z0-9_]+]]: memref<?x?xf64>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>)
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] =
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.remui
// CHECK: %[[WHOLE:[a-z0-9_]+]] = arith.subi %{{.+}}, %[[LEFT]] : index
// CHECK: %[[REACHED:[a-z0-9_]+]] = arith.select %[[ONE:[a-z0-9_]+]], %{{.+}}, %[[WHOLE]]
// CHECK: scf.if %[[ONE]]

// Lines of one vector are no loops. Rows of Y are prefetched where caches do not hold it.
// CHECK: scf.if
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[WHOLE]] step %c4
// CHECK-COUNT-4: memref.prefetch %[[Y]]
// CHECK: vector.store {{.+}}, %[[VALUES]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[WHOLE]] step %c4
// CHECK-NOT: memref.prefetch
// CHECK: vector.store {{.+}}, %[[VALUES]]
// CHECK: scf.for %{{.+}} = %[[WHOLE]] to
// CHECK: vector.reduction

// Of others a later row of X is prefetched.
// CHECK: memref.prefetch %[[X]]
// CHECK: scf.for %[[FIRST:[a-z0-9_]+]] = %{{.+}} to %[[WHOLE]] step %c4
// CHECK: %[[SUMS:[a-z0-9_]+]]:4 = scf.for %[[K:[a-z0-9_]+]] =
// CHECK-COUNT-4: vector.fma
// CHECK: scf.yield
// CHECK: vector.shuffle
// CHECK: vector.store {{.+}}, %[[VALUES]]

// The rest of a row is computed entry by entry.
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[REACHED]] to
// CHECK: vector.reduction
// CHECK: memref.store {{.+}}, %[[VALUES]][%[[ENTRY]]]
