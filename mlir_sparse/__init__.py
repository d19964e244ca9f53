"""A Python front end for MLIR's sparse_tensor dialect."""

from mlir_sparse._native import __version__

__all__ = ["__version__"]
