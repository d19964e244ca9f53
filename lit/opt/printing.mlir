// RUN: mlir-sparse opt %s --cse --canonicalize --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: mlir-sparse opt %s --cse --canonicalize --mlir-print-ir-after=canonicalize -o %t 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: mlir-sparse opt %s --cse --canonicalize --mlir-print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: mlir-sparse opt %s --cse --canonicalize --mlir-timing -o %t 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: FileCheck %s --check-prefix=FILE < %t

// ALL: IR Dump After {{.*}}cse
// ALL: IR Dump After {{.*}}canonicalize
// ONE-NOT: After {{.*}}cse
// ONE: IR Dump After {{.*}}canonicalize
// BEFORE: IR Dump Before {{.*}}cse
// TIME: Execution time report
// TIME: Canonicalizer
// FILE: func.func @f
// FILE-NEXT: %[[TWICE:.*]] = arith.addi
// FILE-NEXT: return %[[TWICE]]
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  return %1 : i32
}
