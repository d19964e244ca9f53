"""Types of the native module; each part of mlir_sparse/native declares here what it registers."""

__version__: str
