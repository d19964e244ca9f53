// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 tile=16 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// A row of C is cut into tiles of two vectors, then of one, then what is less. Each is a value of the loop over entries.

// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0 to
// CHECK: scf.for %[[AT:[a-z0-9_]+]] = %c0 to %{{[a-z0-9_]+}} step %c16
// CHECK-NEXT: %[[FIRST:[a-z0-9_]+]] = vector.load %[[C:[a-z0-9_]+]][%[[ROW]], %[[AT]]] : memref<?x?xf64>, vector<16xf64>
// CHECK-NEXT: %[[LAST:[a-z0-9_]+]] = scf.for %{{.+}} iter_args(%[[SUM:[a-z0-9_]+]] = %[[FIRST]]) -> (vector<16xf64>)
// CHECK: vector.broadcast
// CHECK-NEXT: %[[NEXT:[a-z0-9_]+]] = vector.fma %{{.+}}, %{{.+}}, %[[SUM]] : vector<16xf64>
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: vector.store %[[LAST]], %[[C]][%[[ROW]], %[[AT]]] : memref<?x?xf64>, vector<16xf64>
// What is less than two vectors has room for one at most, and no loop for it. LLVM does not unroll where a turn is short.
// CHECK: scf.if
// CHECK: vector.fma %{{.+}} : vector<8xf64>
// CHECK: loop_annotation = #[[ROLLED:loop_annotation]]
// CHECK: scf.if
// CHECK: vector.create_mask %{{.+}} : vector<8xi1>
// CHECK: vector.maskedload
// CHECK: scf.for {{.+}} -> (vector<8xf64>)
// CHECK: vector.maskedstore
// CHECK-NOT: memref.store
