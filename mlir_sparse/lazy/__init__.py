"""Expressions that are recorded, planned together, and computed when asked: `lazy`, `compute`."""

from mlir_sparse.lazy.compute_together import compute
from mlir_sparse.lazy.lazy_array import LazyArray, lazy

__all__ = ["LazyArray", "compute", "lazy"]
