// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = max(j : A(i,j))" -f A:CSR --stage sparsified | FileCheck %s

// The loop also counts entries: a row with fewer entries than columns has a zero among its values.

// CHECK-NOT: memref<?x?xf64>
// CHECK: %[[LEAST:[a-z0-9_]+]] = arith.constant 0xFFF0000000000000 : f64
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[GREATEST:[a-z0-9_]+]] = %[[LEAST]])
// CHECK: arith.maximumf %[[GREATEST]],
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.addi {{.*}} : i64
// CHECK: %[[FEWER:[a-z0-9_]+]] = arith.cmpi slt
// CHECK: %[[WITH_ZERO:[a-z0-9_]+]] = arith.maximumf
// CHECK: arith.select %[[FEWER]], %[[WITH_ZERO]]
