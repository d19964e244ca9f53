// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --semiring max_plus --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(sum-rows{every=true})" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Lanes that are not the row's have what no entry is less than, not zeros.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.while (%{{.+}} = %{{.+}}, %[[SO_FAR:[a-z0-9_]+]] = %{{.+}}) : (index, vector<4xf64>)
// CHECK: %[[NOTHING:[a-z0-9_]+]] = arith.constant dense<0xFFF0000000000000> : vector<4xf64>
// CHECK: arith.select %{{.+}}, %{{.+}}, %[[NOTHING]]
// CHECK: arith.maximumf %{{.+}}, %[[SO_FAR]] : vector<4xf64>
// CHECK: vector.reduction <maximumf>
