// RUN: not mlir-sparse opt %s --verify-diagnostics 2>&1 | FileCheck %s

// CHECK: diagnostics_missed.mlir:[[@LINE+1]]:{{.*}} error: expected error "something else" was not produced
// expected-error@+1 {{something else}}
func.func @f() { return }
