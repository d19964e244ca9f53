// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)" -f B:CSF --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=128 tile=2},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// A row of A is a loop-carried value of the loops over k and l, and a row of C is read once for all l; without masks
// what is less than a vector is a vector of less.

// CHECK: scf.for %[[AT:[a-z0-9_]+]] = %c0 to %{{[a-z0-9_]+}} step %c2
// CHECK-NEXT: vector.load %[[A:[a-z0-9_]+]][
// CHECK: scf.for {{.+}} -> (vector<2xf64>)
// CHECK: vector.load {{.+}}, vector<2xf64>
// CHECK: scf.for {{.+}} -> (vector<2xf64>)
// CHECK: vector.load {{.+}}, vector<2xf64>
// CHECK-COUNT-2: arith.mulf {{.+}} : vector<2xf64>
// CHECK: arith.addf {{.+}} : vector<2xf64>
// CHECK: vector.store {{.+}}, %[[A]][
// CHECK: scf.if
// CHECK: arith.addf {{.+}} : vector<1xf64>
// CHECK: vector.store {{.+}}, %[[A]][{{.+}}, vector<1xf64>
// CHECK-NOT: memref.store
