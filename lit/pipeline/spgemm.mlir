// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --stage sparsified | FileCheck %s

// C's buffers are arguments, and so is a workspace for a row: values, and a tree of bits of what is filled. A row
// drains from there in order into C's buffers; its position is stored at the end. Nothing is sorted or allocated.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[POS:[a-z0-9_]+]]: memref<?xindex>, %[[CRD:[a-z0-9_]+]]: memref<?xindex>, %[[VALUES:[a-z0-9_]+]]: memref<?xf64>, %[[ROW:[a-z0-9_]+]]: memref<?xf64>, %[[BITS:[a-z0-9_]+]]: memref<?xi64>, %[[MIDDLE:[a-z0-9_]+]]: memref<?xi64>, %[[TOP:[a-z0-9_]+]]: memref<?xi64>, %[[CONTROL:[a-z0-9_]+]]: memref<?xindex>) attributes
// CHECK-NOT: tensor<
// CHECK-NOT: call
// CHECK-NOT: alloc
// CHECK: scf.for %{{.+}} iter_args(%[[COUNT:[a-z0-9_]+]] =

// Rows with few products are kept sorted in place: their greatest number of entries is counted first.
// CHECK: %[[MOST:[a-z0-9_]+]] = scf.for
// CHECK: arith.cmpi ule, %[[MOST]], %c24
// CHECK: arith.addi %[[COUNT]], %[[MOST]]
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: %[[ROW]]
// CHECK: scf.while
// CHECK: memref.load %[[CRD]][
// CHECK: scf.if
// CHECK: scf.while
// CHECK: memref.store %{{.+}}, %[[CRD]][
// CHECK: memref.store %{{.+}}, %[[VALUES]][
// CHECK: memref.store %{{.+}}, %[[CRD]][
// CHECK: memref.store %{{.+}}, %[[VALUES]][%[[PLACE:[a-z0-9_]+]]]
// CHECK: arith.mulf
// CHECK: memref.store %{{.+}}, %[[VALUES]][

// CHECK: else
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load %[[ROW]][%[[COLUMN:[a-z0-9_]+]]]
// CHECK: memref.load %[[BITS]][
// CHECK-NOT: scf.if
// CHECK: memref.store %{{.+}}, %[[BITS]][
// CHECK: memref.store %{{.+}}, %[[MIDDLE]][
// CHECK: scf.if
// CHECK: memref.store %{{.+}}, %[[TOP]][
// CHECK: memref.store %{{.+}}, %[[ROW]][%[[COLUMN]]]
// CHECK: math.cttz
// CHECK: math.cttz
// CHECK: math.cttz
// CHECK: %[[ENTRY:[a-z0-9_]+]] = memref.load %[[ROW]][%[[NEXT:[a-z0-9_]+]]]
// CHECK: %[[AT:[a-z0-9_]+]] = arith.minui
// CHECK: memref.store %[[NEXT]], %[[CRD]][%[[AT]]]
// CHECK: memref.store %[[ENTRY]], %[[VALUES]][%[[AT]]]
// CHECK: memref.store %{{.+}}, %[[POS]][
// CHECK: memref.store %{{.+}}, %[[CONTROL]][
// CHECK: return
