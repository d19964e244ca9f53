// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --diff prefetch-rows | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --diff prefetch-rows | FileCheck %s --check-prefix=ALONE --allow-empty
// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --diff prefetch-streams | FileCheck %s --check-prefix=STREAM --allow-empty

// Where the row of the entry 16 places on begins is asked for, and the row of the entry 8 places on itself, whose
// coordinate is bounded: beyond the last entry there may be anything.

// CHECK: + {{.*}}memref.prefetch %[[POS:[a-z0-9_]+]][
// CHECK: + {{.*}}arith.minui
// CHECK: + {{.*}}%[[BOUNDED:[0-9]+]] = arith.minui
// CHECK: + {{.*}}memref.load %[[POS]][%[[BOUNDED]]]
// CHECK: + {{.*}}memref.prefetch
// CHECK: + {{.*}}memref.prefetch

// One matrix alone has no rows that others name.
// ALONE-NOT: memref.prefetch

// Rows that entries name do not follow each other: what lies 768 entries on is of no use.
// STREAM-NOT: memref.prefetch
