// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = b(i) - A(i,j) * x(j)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(sum-rows{every=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Entries of a row are summed eight at a time, with those after its end masked; the next row begins at that end.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[CELL:[a-z0-9_]+]] = memref.alloca() : memref<1xindex>
// CHECK: memref.store %{{.+}}, %[[CELL]]
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0
// CHECK: %[[FOLLOWING:[a-z0-9_]+]] = arith.addi %[[ROW]], %c1
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %{{.+}}[%[[FOLLOWING]]]
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[CELL]]
// CHECK: memref.store %[[END]], %[[CELL]]
// CHECK: scf.while (%[[FIRST:[a-z0-9_]+]] = %[[BEGIN]],
// CHECK-COUNT-2: memref.prefetch
// CHECK: arith.cmpi ugt, %{{.+}}, %{{.+}} : vector<8xi64>
// CHECK: scf.condition
// CHECK: %[[TOTAL:[a-z0-9_]+]] = vector.reduction <add>
// CHECK: arith.subf %{{.+}}, %[[TOTAL]] : f64
