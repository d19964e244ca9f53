// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f "A:BSR(3, 3)" --diff unroll-blocks | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f "A:BSR(8, 8)" --diff unroll-blocks | FileCheck %s --check-prefix=LARGE --allow-empty

// The three elements of the result are read before the blocks of a row, and written after them.
// CHECK-COUNT-3: %{{[0-9]+}} = memref.load [[Y:%arg[0-9]+]][
// CHECK: scf.for [[PLACE:%[a-z0-9]+]] = {{.+}} -> (f64, f64, f64)
// CHECK-COUNT-2: memref.prefetch
// CHECK-NOT: scf.for
// CHECK-COUNT-9: arith.addf
// CHECK-NOT: arith.addf
// CHECK: scf.yield
// CHECK-COUNT-3: memref.store %{{.+}}, [[Y]][

// LARGE-NOT: scf.for
