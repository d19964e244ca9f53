// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)" -f B:CSF --stage sparsified | FileCheck %s

// The levels of B outside, rows of the factors inside: each entry multiplies two rows, and adds to one of A.

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

// Where rows are multiplied each size of tiles is code of its own, twice as much as for one row: there are fewer of them.
// What is less than the least takes two vectors at a time, with a mask.

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
