// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) * X(i,k) * Y(j,k)" -f A:CSR -f C:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=512 masks=true fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// Four vector accumulators, then one, then one with a mask; they are added up once. The entry of A multiplies each
// term, as
// written. The rows of Y are prefetched.

// CHECK: scf.for {{.+}} step %c32 iter_args({{.+}}) -> (vector<32xf64>)
// CHECK: memref.prefetch %{{[a-z0-9_]+}}[
// CHECK: vector.fma {{.+}} : vector<32xf64>
// CHECK-COUNT-4: vector.extract_strided_slice
// CHECK: scf.for {{.+}} step %c8 iter_args({{.+}}) -> (vector<8xf64>)
// CHECK: vector.create_mask
// CHECK: arith.select {{.+}} : vector<8xi1>, vector<8xf64>
// CHECK: vector.reduction <add>, {{.+}} fastmath<reassoc> : vector<8xf64> into f64
// CHECK-NOT: arith.mulf
