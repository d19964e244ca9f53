// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:COO --stage sparsified | FileCheck %s

// A vector whose last entry is of the run so far adds to its lanes. Elsewhere elements are read and written once for each
// run, of which there are three at the most, or once for each entry.

// CHECK-LABEL: func.func @kernel(
// CHECK: %[[SHORT:[a-z0-9_]+]] = arith.cmpi ugt, %{{.+}} : i64
// CHECK: %[[REACHED:[a-z0-9_]+]]:4 = scf.for %[[FIRST:[a-z0-9_]+]] = {{.+}} step %c8{{.*}} iter_args(%[[SOME:[a-z0-9_]+]] = %{{[a-z0-9_]+}}, %[[CURRENT:[a-z0-9_]+]] = %{{[a-z0-9_]+}}, %[[LANES:[a-z0-9_]+]] =
// CHECK: %[[END:[a-z0-9_]+]] = arith.addi %[[FIRST]], %c7{{.*}} : index
// CHECK: %[[LAST:[a-z0-9_]+]] = memref.load %[[ROWS:[a-z0-9_]+]][%[[END]]]
// CHECK: %[[ONE:[a-z0-9_]+]] = arith.cmpi eq, %[[CURRENT]], %[[LAST]]
// CHECK: scf.if %[[ONE]]
// CHECK: arith.addf %[[LANES]], %{{.+}} : vector<4xf64>
// CHECK: scf.yield %true{{.*}}, %[[CURRENT]],
// CHECK: scf.if %[[SHORT]]
// CHECK: scf.for
// CHECK: scf.yield %false{{.*}}, %[[LAST]],
// CHECK-COUNT-6: memref.load %[[ROWS]]
// CHECK: %[[BETWEEN:[a-z0-9_]+]] = memref.load %[[ROWS]]
// CHECK: %[[LATER:[a-z0-9_]+]] = memref.load %[[ROWS]]
// CHECK: %[[THREE:[a-z0-9_]+]] = arith.cmpi eq, %[[BETWEEN]], %[[LATER]]
// CHECK: scf.if %[[THREE]]
// CHECK: %[[BEFORE:[a-z0-9_]+]] = memref.load %[[Y:[a-z0-9_]+]][%[[CURRENT]]]
// CHECK: %[[AFTER:[a-z0-9_]+]] = vector.reduction <add>, %{{.+}}, %[[BEFORE]]
// CHECK: memref.store %[[AFTER]], %[[Y]][%[[CURRENT]]]
// CHECK: memref.store %{{.+}}, %[[Y]][%[[BETWEEN]]]
// CHECK: scf.yield %true{{.*}}, %[[LAST]],
// CHECK: scf.if %[[REACHED]]#0
// CHECK: memref.store %{{.+}}, %[[Y]][%[[REACHED]]#1]

// The last few are added one by one.

// CHECK: scf.for
// CHECK: memref.store
// CHECK: return
