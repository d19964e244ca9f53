"""The command line: `mlir-sparse emit | run | tune | convert | formats | doctor`."""
