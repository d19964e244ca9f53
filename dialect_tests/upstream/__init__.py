"""MLIR's own tests of the sparse_tensor dialect, run with this package's commands in the place of MLIR's.

The tests are not in this repository: MLIR_UPSTREAM_TESTS names the folder `mlir/test` of a release of LLVM.
"""
