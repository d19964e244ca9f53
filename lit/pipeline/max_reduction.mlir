// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = max(j : A(i,j))" -f A:CSR --stage sparsified | FileCheck %s

// A row with fewer entries than columns has a zero among its values: its loop starts from it.

// CHECK-NOT: memref<?x?xf64>
// CHECK-DAG: %[[LEAST:[a-z0-9_]+]] = arith.constant 0xFFF0000000000000 : f64
// CHECK: scf.for
// CHECK-DAG: %[[SIZE:[a-z0-9_]+]] = llvm.extractvalue %{{.*}}[0, 1]
// CHECK-DAG: %[[COLUMNS:[a-z0-9_]+]] = arith.index_cast %[[SIZE]]
// CHECK-DAG: %[[ENTRIES:[a-z0-9_]+]] = arith.subi
// CHECK: %[[FEWER:[a-z0-9_]+]] = arith.cmpi ult, %[[ENTRIES]], %[[COLUMNS]]
// CHECK: %[[START:[a-z0-9_]+]] = arith.select %[[FEWER]], %{{.*}}, %[[LEAST]]
// CHECK: scf.for {{.*}} iter_args(%[[GREATEST:[a-z0-9_]+]] = %[[START]])
// CHECK: arith.maximumf %[[GREATEST]],
// CHECK-NOT: arith.maximumf
// CHECK: return
