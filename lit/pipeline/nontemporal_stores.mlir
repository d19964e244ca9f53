// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,j) = A(i,j) + B(i,j)" -f A:CSR -f B:CSR -f C:CSR --diff nontemporal-stores | FileCheck %s
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "D(i,j,k) = A(i,j,k) + B(i,j,k)" -f A:CSF -f B:CSF -f D:CSF --diff nontemporal-stores | FileCheck %s --check-prefix=LISTS --allow-empty
// RUN: env MLIR_SPARSE_VECTOR_LANES=0 mlir-sparse emit "C(i,k) = A(i,j) * B(j,k)" -f A:CSR -f B:CSR -f C:CSR --diff nontemporal-stores | FileCheck %s --check-prefix=PRODUCT --allow-empty

// If a result's capacity exceeds the caches, the nest stores each coordinate without reading its cache line, and each
// value where the processor has such stores of single floats (SSE4A). The ends of rows are stored as usual. For small
// results, which stay in the caches, the nest is unchanged.

// CHECK: %[[LARGE:[a-z0-9_]+]] = arith.cmpi ugt, %[[ROOM:[a-z0-9_]+]], %c{{[0-9]+}}
// CHECK: scf.if %[[LARGE]] -> (index) {
// CHECK: scf.while
// CHECK: %[[PLACE:[a-z0-9_]+]] = arith.minui %{{[a-z0-9_]+}}, %[[ROOM]]
// CHECK: memref.store %{{.+}}, %[[COORDINATES:[a-z0-9_]+]][%[[PLACE]]] {nontemporal = true}
// CHECK: memref.store %{{.+}}, %[[VALUES:[a-z0-9_]+]][%[[PLACE]]]
// CHECK-COUNT-4: {nontemporal = true}
// CHECK: } else {
// CHECK: scf.while
// CHECK-NOT: nontemporal

// LISTS-NOT: nontemporal
// PRODUCT-NOT: nontemporal
