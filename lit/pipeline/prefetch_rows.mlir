// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --diff prefetch-rows | FileCheck %s
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --diff prefetch-rows | FileCheck %s --check-prefix=ALONE --allow-empty
// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR --diff prefetch-streams | FileCheck %s --check-prefix=STREAM --allow-empty

// The loop prefetches the position of the row of a later entry, and the row itself of one half as many places
// later,
// whose coordinate is bounded: beyond the last entry there may be any number.

// CHECK: + {{.*}}memref.prefetch %[[POS:[a-z0-9_]+]][
// CHECK: + {{.*}}arith.minui
// CHECK: + {{.*}}%[[BOUNDED:[0-9]+]] = arith.minui
// CHECK: + {{.*}}memref.load %[[POS]][%[[BOUNDED]]]
// CHECK: + {{.*}}memref.prefetch
// CHECK: + {{.*}}memref.prefetch

// With one matrix there are no rows to look up.
// ALONE-NOT: memref.prefetch

// Rows that entries name do not follow each other: what lies hundreds of entries on is of no use.
// STREAM-NOT: memref.prefetch
