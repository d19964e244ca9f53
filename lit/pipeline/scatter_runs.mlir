// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(j) = A(i,j) * x(i)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(scatter-runs{every=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Eight entries with consecutive coordinates are added to the result at once, as their elements differ.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %c0
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[POSITIONS:[a-z0-9_]+]][%[[ROW]]] : memref<?xindex>
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %[[POSITIONS]][
// CHECK: scf.for %[[FIRST:[a-z0-9_]+]] = %[[BEGIN]] to %[[END]] step %c8
// CHECK-COUNT-2: memref.prefetch
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[WHOLE:[a-z0-9_]+]] = arith.cmpi uge, %[[LEFT]], %c8
// CHECK: scf.if %[[WHOLE]]
// CHECK: vector.load %[[COORDINATES:[a-z0-9_]+]][%[[FIRST]]] : memref<?xindex>, vector<8xindex>
// CHECK: %[[SAME:[a-z0-9_]+]] = arith.cmpi eq, %{{.+}}, %{{.+}} : vector<8xi64>
// CHECK: %[[BESIDE:[a-z0-9_]+]] = vector.reduction <and>, %[[SAME]]
// CHECK: scf.if %[[BESIDE]]
// CHECK: %[[COLUMN:[a-z0-9_]+]] = memref.load %[[COORDINATES]][%[[FIRST]]]
// CHECK: vector.load %{{.+}}[%[[FIRST]]] : memref<?xf64>, vector<8xf64>
// CHECK: %[[HELD:[a-z0-9_]+]] = vector.load %[[RESULT:[a-z0-9_]+]][%[[COLUMN]]] : memref<?xf64>, vector<8xf64>
// CHECK: arith.addf %[[HELD]], %{{.+}} : vector<8xf64>
// CHECK: vector.store %{{.+}}, %[[RESULT]][%[[COLUMN]]]

// Others are added one by one, and so is the rest of a row.
// CHECK: scf.for %{{.+}} = %c0
// CHECK: memref.store %{{.+}}, %[[RESULT]]
// CHECK-COUNT-6: scf.if
// CHECK-NOT: linalg.generic {
