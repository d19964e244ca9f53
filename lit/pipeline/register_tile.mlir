// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 tile=16 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// A row of C is divided into tiles of two vectors, then of one, then the rest. Each tile is a loop-carried value of the
// loop
// over entries, and starts from C's initial value: C is written once, and never read.

// CHECK: func.func @kernel({{.*}}%[[C:[a-z0-9_]+]]: memref<?x?xf64>)
// CHECK-DAG: %[[ZEROS:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<16xf64>
// CHECK-NOT: linalg.generic
// Rows of up to two vectors have loops of their own, which are in no doubt about tiles: of half a vector, of less than
// one with a mask, of one, and so on.
// CHECK: %[[NARROW:[a-z0-9_]+]] = arith.cmpi ule, %{{.+}}, %c16
// CHECK: scf.if %[[NARROW]]
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// Entries are added to four vectors by turns: none waits for the sum of the one before.
// CHECK: scf.for %{{.+}} step %c4 iter_args(%[[FIRST:[a-z0-9_]+]] = %{{.+}}, %[[SECOND:[a-z0-9_]+]] = {{.+}}) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK: vector.fma %{{.+}}, %{{.+}}, %[[FIRST]] : vector<8xf64>
// CHECK: vector.fma %{{.+}}, %{{.+}}, %[[SECOND]] : vector<8xf64>
// CHECK: scf.for {{.+}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>)
// CHECK: vector.create_mask %{{.+}} : vector<8xi1>
// CHECK: vector.maskedstore
// CHECK: scf.for {{.+}} -> (vector<16xf64>)
// CHECK: vector.create_mask %{{.+}} : vector<16xi1>
// CHECK: vector.maskedstore
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for %[[AT:[a-z0-9_]+]] = %c0 to %{{[a-z0-9_]+}} step %c16
// CHECK-NEXT: %[[LAST:[a-z0-9_]+]] = scf.for %{{.+}} iter_args(%[[SUM:[a-z0-9_]+]] = %[[ZEROS]]) -> (vector<16xf64>)
// CHECK: vector.broadcast
// CHECK-NEXT: %[[NEXT:[a-z0-9_]+]] = vector.fma %{{.+}}, %{{.+}}, %[[SUM]] : vector<16xf64>
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: vector.store %[[LAST]], %[[C]][%[[ROW]], %[[AT]]] : memref<?x?xf64>, vector<16xf64>
// The rest below two vectors is at most one, and needs no loop. LLVM does not unroll loops with few iterations.
// CHECK: scf.if
// CHECK: vector.fma %{{.+}} : vector<8xf64>
// CHECK: loop_annotation = #[[ROLLED:loop_annotation]]
// CHECK: scf.if
// CHECK: vector.create_mask %{{.+}} : vector<8xi1>
// CHECK: scf.for {{.+}} -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK: vector.maskedstore
// The loops cover all rows and columns of C, which the runtime guarantees; others would not be initialised.
// CHECK: memref.store %{{.+}}, %[[C]][%[[ROW]], %{{.+}}]
// CHECK: memref.store %{{.+}}, %[[C]]
// CHECK-NOT: memref.store
