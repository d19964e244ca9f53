// RUN: mlir-sparse opt %s --load-pass-plugin=%S/Inputs/rename.py --cse --rename-first="to=other" --canonicalize | FileCheck %s
// RUN: mlir-sparse opt --load-pass-plugin=%S/Inputs/rename.py --list-passes | FileCheck %s --check-prefix=LIST
// RUN: not mlir-sparse opt %s --load-pass-plugin=%S/Inputs/rename.py --rename-first 2>&1 | FileCheck %s --check-prefix=RAISES

// LIST: rename-first
// CHECK: func.func @other
// RAISES: expected the pass rename-first to return, but got KeyError: 'to'
func.func @f() { return }
