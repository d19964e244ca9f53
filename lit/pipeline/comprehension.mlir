// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "def mv(float(M,K) A, float(K) x) -> (C) { C(i) = 0  C(i) += A(i,k) * x(k) }" -f A:CSR --stage sparsified | FileCheck %s

// Each statement is lowered as a separate module; `// -----` separates them.

// CHECK: func.func @kernel(
// CHECK-NOT: scf.for
// CHECK: // -----
// CHECK: func.func @kernel(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.mulf {{.*}} : f32
