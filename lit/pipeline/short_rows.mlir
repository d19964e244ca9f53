// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "Y(i,j) = T(i,j,k) * v(k)" -f T:CSF -f Y:DCSR --stage sparsified | FileCheck %s
// RUN: env -u MLIR_SPARSE_VECTOR_LANES mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:SlotELL --stage sparsified | FileCheck %s --check-prefix=SLOTS

// Fibers are short: eight entries are read from a fiber's begin, and those of the next fibers are masked.

// CHECK-LABEL: func.func @kernel(
// CHECK: scf.for %[[FIBER:[a-z0-9_]+]] = %c0
// CHECK: %[[BEGIN:[a-z0-9_]+]] = memref.load %[[POSITIONS:[a-z0-9_]+]][%[[FIBER]]]
// CHECK: %[[END:[a-z0-9_]+]] = memref.load %[[POSITIONS]]
// CHECK: %[[BEHIND:[a-z0-9_]+]] = arith.addi %[[END]], %c8
// CHECK: %[[INSIDE:[a-z0-9_]+]] = arith.cmpi ule, %[[BEHIND]],
// CHECK: scf.if %[[INSIDE]]
// An empty fiber has an iteration too.
// CHECK: scf.while (%[[FIRST:[a-z0-9_]+]] = %{{.+}}, %[[HELD:[a-z0-9_]+]] = %{{.+}}) : (index, vector<4xf64>)
// CHECK-COUNT-2: memref.prefetch
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[OWN:[a-z0-9_]+]] = arith.cmpi ult, %{{.+}}, %{{.+}} : vector<8xi64>
// CHECK: %[[PART:[a-z0-9_]+]] = vector.extract_strided_slice %[[OWN]] {offsets = [0], sizes = [4], strides = [1]}
// CHECK: vector.load %{{.+}}[%[[FIRST]]] : memref<?xf64>, vector<4xf64>
// CHECK-COUNT-4: vector.load %{{.+}} : memref<?xf64>, vector<1xf64>
// CHECK: arith.select %[[PART]]
// CHECK: scf.condition
// CHECK: vector.reduction <add>

// The last fibers are summed entry by entry, so that nothing is read beyond them.
// CHECK: } else {
// CHECK: scf.for %{{.+}} to %[[END]] step %{{.+}} iter_args

// SLOTS-NOT: scf.while
// SLOTS: return
