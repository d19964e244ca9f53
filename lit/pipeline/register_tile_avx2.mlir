// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR --stage sparsified > %t.mlir
// RUN: echo "// pipeline: builtin.module(register-tile{bits=256 fma=true},func.func(canonicalize,cse))" >> %t.mlir
// RUN: %python -m mlir_sparse.pipeline %t.mlir | FileCheck %s

// AVX2 loads elements of 32 bits and more by masks, as cheaply as whole vectors, but does not store so: halves are
// stored, each if a bit of the number of elements says so.

// CHECK: arith.cmpi ule, %{{.+}}, %c8
// CHECK: arith.cmpi sgt, %{{.+}} : vector<4xi64>
// CHECK: vector.maskedload
// CHECK: arith.andi %{{.+}}, %c2
// CHECK: scf.if
// CHECK-NEXT: vector.store %{{.+}}, vector<2xf64>
// CHECK: arith.andi %{{.+}}, %c1
// CHECK: scf.if
// CHECK-NEXT: vector.store %{{.+}}, vector<1xf64>
// CHECK-NOT: vector.maskedstore
// What is less than two vectors is one tile of a row with more.
// CHECK: step %c32
// CHECK: vector.fma %{{.+}} : vector<16xf64>
// CHECK: vector.fma %{{.+}} : vector<8xf64>
// CHECK: arith.cmpi sgt, %{{.+}} : vector<8xi64>
// CHECK: vector.maskedload
// CHECK: vector.fma %{{.+}} : vector<8xf64>
// CHECK: vector.fma %{{.+}} : vector<4xf64>
// CHECK: arith.cmpi sgt, %{{.+}} : vector<4xi64>
// CHECK: vector.fma %{{.+}} : vector<4xf64>
