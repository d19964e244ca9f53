"""The function that begins a lazy expression; what records and computes is loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlir_sparse.process.first_use import in_hints
from mlir_sparse.process.forks import importing

if TYPE_CHECKING:
    from mlir_sparse.lazy.lazy_array import LazyArray
else:
    LazyArray = in_hints("mlir_sparse.lazy.lazy_array", "LazyArray")

__all__ = ["lazy"]

# What records, once it is loaded: to look it up takes as long as to record.
_recorded: Callable[[Any], LazyArray] | None = None


def lazy(source: Any) -> LazyArray:
    """Returns an operand whose operations are recorded, and computed together when they are asked for.

    Args:
        source: a SparseTensor, an array, another library's sparse array, a number, or a defined tensor, whose
            definition is planned with the rest; or a lazy expression, which is returned. It is not copied: values that
            are changed before a computation count. A dask.array makes the results dask.arrays.

    Raises:
        OperandError: for other objects, and for data on a device.
        DTypeError: for an element type that the dialect lacks.

    >>> import numpy as np
    >>> import mlir_sparse as ms
    >>> A = ms.lazy(ms.tensor([[0.0, 2.0], [3.0, 0.0]]))
    >>> y = (A @ A) @ np.ones(2)
    >>> y
    <LazyArray f64[2], 2 steps: call .compute()>
    >>> y.compute()
    array([6., 6.])
    """
    global _recorded
    if _recorded is None:
        with importing():
            from mlir_sparse.lazy.compute_together import recorded
        _recorded = recorded
    return _recorded(source)
