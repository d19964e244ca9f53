"""The command line: `mlir-sparse emit | run | convert | formats | doctor`."""
