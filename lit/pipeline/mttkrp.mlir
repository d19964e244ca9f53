// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)" -f B:CSF --stage sparsified | FileCheck %s

// The levels of B are outside, rows of the factors inside: each entry multiplies two rows, and adds to a row of A.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: memref<?x?xf64>, %[[D:[a-z0-9_]+]]: memref<?x?xf64>, %[[A:[a-z0-9_]+]]: memref<?x?xf64>)
// CHECK: scf.for %[[I:[a-z0-9_]+]] =
// CHECK: scf.for %[[J:[a-z0-9_]+]] =
// CHECK: scf.for %[[K:[a-z0-9_]+]] =
// CHECK: scf.for %[[COLUMN:[a-z0-9_]+]] = %c0 to
// CHECK: memref.load %[[A]][%[[ROW:[a-z0-9_]+]], %[[COLUMN]]]
// CHECK: memref.load %[[C]][%{{.+}}, %[[COLUMN]]]
// CHECK: memref.load %[[D]][%{{.+}}, %[[COLUMN]]]
// CHECK: memref.store %{{.+}}, %[[A]][%[[ROW]], %[[COLUMN]]]
// CHECK-NOT: memref.alloc

// With products of rows each tile size needs twice the code of one row, so there are fewer sizes.
// The rest below the least tile takes two vectors at a time, with a mask.

// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)" -f B:CSF --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s --check-prefix=TILED

// TILED: vector.fma %{{.+}} : vector<128xf64>
// TILED: vector.fma %{{.+}} : vector<64xf64>
// TILED: scf.if
// TILED: vector.fma %{{.+}} : vector<32xf64>
// TILED-NOT: vector.fma
// TILED: scf.for %{{.+}} step %c16
// TILED: vector.create_mask %{{.+}} : vector<16xi1>
// TILED: vector.fma %{{.+}} : vector<16xf64>
// TILED-NOT: vector.fma
