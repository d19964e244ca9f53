// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f "A:BSR(3, 3)" --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=256 fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// The three rows of a block are carried by the loop over the blocks of a row; each row of B is loaded once for them.

// CHECK: scf.for %{{.+}} = %c0 to %{{.+}} step %c16
// CHECK-COUNT-3: vector.load %{{.+}}, vector<16xf64>
// CHECK: scf.for {{.+}} -> (vector<16xf64>, vector<16xf64>, vector<16xf64>)
// CHECK-COUNT-9: vector.fma %{{.+}} : vector<16xf64>
// CHECK-NEXT: scf.yield
// CHECK-COUNT-3: vector.store %{{.+}}, vector<16xf64>
// CHECK: scf.for {{.+}} -> (vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK: scf.for {{.+}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>)
