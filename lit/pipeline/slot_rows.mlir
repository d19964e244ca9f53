// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(slot-rows{every=true})" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// A block of rows has all of its slots added up before the next one, eight rows at once: by loads of their own where all
// slots are taken, by a gather with a mask where some are not.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[BLOCK:[a-z0-9_]+]] = arith.constant 32768 : index
// CHECK: scf.for %[[BEGIN:[a-z0-9_]+]] = %{{.+}} to %{{.+}} step %[[BLOCK]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %[[BEGIN]] to %{{.+}} step
// CHECK: %[[TAKEN:[a-z0-9_]+]] = arith.cmpi sge, {{.+}} : vector<8xindex>
// CHECK: %[[ALL:[a-z0-9_]+]] = vector.reduction <and>, %[[TAKEN]] : vector<8xi1> into i1
// CHECK: %[[SUM:[a-z0-9_]+]] = scf.if %[[ALL]] -> (vector<8xf64>)
// CHECK-COUNT-8: vector.load %{{.+}} : memref<?xf64>, vector<1xf64>
// CHECK: } else {
// CHECK: vector.gather
// CHECK: arith.select
// CHECK: vector.store %[[SUM]], %{{.+}}[%[[ROW]]] : memref<?xf64>, vector<8xf64>
