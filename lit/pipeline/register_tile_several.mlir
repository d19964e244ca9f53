// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = S(i,j) * X(i,k) * Y(j,k)" -f S:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Four entries of a row are computed together: each has a vector accumulator, and they share X's row.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<?x?xf64>, %[[Y:[a-z0-9_]+]]: memref<?x?xf64>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>)
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] =
// A later row of X is prefetched.
// CHECK: memref.prefetch %[[X]]
// CHECK: %[[END:[a-z0-9_]+]] = arith.subi %{{.+}}, %{{.+}} : index
// CHECK: %[[WHOLE:[a-z0-9_]+]] = arith.subi
// CHECK: scf.for %[[FIRST:[a-z0-9_]+]] = %{{.+}} to %[[WHOLE]] step %c4
// CHECK: %[[SUMS:[a-z0-9_]+]]:4 = scf.for %[[K:[a-z0-9_]+]] =
// CHECK-COUNT-4: vector.fma
// CHECK: scf.yield
// CHECK: vector.shuffle
// CHECK: vector.extract %{{.+}}[3]
// CHECK-COUNT-4: memref.store {{.+}}, %[[VALUES]]

// The rest of a row is computed entry by entry.
// CHECK: scf.for %[[ENTRY:[a-z0-9_]+]] = %[[WHOLE]] to
// CHECK: vector.reduction
// CHECK: memref.store {{.+}}, %[[VALUES]][%[[ENTRY]]]
