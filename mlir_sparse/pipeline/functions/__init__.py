"""Functions of real numbers as arithmetic: vectors have no calls, and those of libraries take elements one by one."""

from mlir_sparse.pipeline.functions.expand_functions import expand_functions

__all__ = ["expand_functions"]
