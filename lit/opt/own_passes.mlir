// RUN: mlir-sparse opt --list-passes | FileCheck %s --check-prefix=LIST
// RUN: mlir-sparse opt %s --sparsification-and-bufferization --sparse-storage-specifier-to-llvm --canonicalize --register-tile="lanes=4 tile=8" | FileCheck %s
// RUN: not mlir-sparse opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mlir-sparse opt %s --cse="no-such-option=1" 2>&1 | FileCheck %s --check-prefix=OPTION

// LIST: assemble-sparse-results
// LIST: register-tile
// CHECK: func.func @f
// NONE: expected a pass or pipeline with its options, but got 'no-such-pass'
// OPTION: no such option no-such-option
func.func @f() { return }
