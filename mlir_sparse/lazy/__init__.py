"""Expressions that are recorded, planned together, and computed when asked: `lazy`, `compute`."""

from typing import TYPE_CHECKING

from mlir_sparse.lazy.start_recording import lazy
from mlir_sparse.process.first_use import at_first_use

if TYPE_CHECKING:
    from mlir_sparse.lazy.compute_together import compute
    from mlir_sparse.lazy.lazy_array import LazyArray
else:
    __getattr__ = at_first_use(__name__, {"compute_together": ("compute",), "lazy_array": ("LazyArray",)})

__all__ = ["LazyArray", "compute", "lazy"]
