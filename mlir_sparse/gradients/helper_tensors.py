"""The constant operands of adjoint statements: selections, which gather and scatter, and ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.gradients.step_shapes import extents_of
from mlir_sparse.notation import Access, AffineSubscript, IndexVar
from mlir_sparse.notation.adjoint import Helper
from mlir_sparse.tensor import SparseTensor

__all__ = ["helper_tensor"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


def helper_tensor(
    helper: Helper, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Value], dtype: DType
) -> Value:
    """Returns a helper: an array of ones, or one entry of 1 a row where its subscript says.

    Args:
        helper: what it is.
        shapes: by tensor, the shapes of what its statement reads and assigns.
        values: the tensors of integers that its subscript gathers by.
        dtype: the element type.
    """
    extents = extents_of(helper.statement, dict(shapes))
    if helper.axis is not None:
        extents.setdefault(helper.original[-1], shapes[helper.axis.tensor][helper.axis.axis])
    sizes = [extents[variable] for variable in helper.original]
    if helper.subscript is None:
        return np.ones(sizes, dtype.numpy)
    if helper.axis is not None:
        sizes[-1] = shapes[helper.axis.tensor][helper.axis.axis]
    *rows, last = sizes
    grid = dict(zip(helper.indices, np.meshgrid(*map(np.arange, rows), indexing="ij", copy=False), strict=False))
    places = np.broadcast_to(_places(helper, helper.subscript, grid, values), rows).reshape(-1)
    return _one_a_row(places, rows, last, dtype)


def _places(helper: Helper, subscript: Any, grid: Mapping[IndexVar, Array], values: Mapping[str, Value]) -> Array:
    """Returns where a subscript reads from, for all values of its variables."""
    match subscript:
        case IndexVar():
            return grid[subscript]
        case AffineSubscript(terms, constant):
            total = np.asarray(constant)
            for coefficient, variable in terms:
                total = total + coefficient * grid[variable]
            return total
        case Access(tensor, subscripts):
            array = values[tensor]
            integers = array.to_numpy() if isinstance(array, SparseTensor) else array
            found: Array = integers[tuple(_places(helper, below, grid, values) for below in subscripts)]
            return found
        case _:
            raise AssertionError(f"expected a subscript, but got {subscript}")


def _one_a_row(places: Array, rows: list[int], last: int, dtype: DType) -> SparseTensor:
    """Returns a tensor with an entry of 1 in each row, none where its place is outside: ranges leave those out."""
    inside = (places >= 0) & (places < last)
    crd = places[inside]
    rank = len(rows) + 1
    dims = ", ".join(f"d{at}" for at in range(rank))
    levels = ", ".join([*(f"d{at} : dense" for at in range(rank - 1)), f"d{rank - 1} : compressed"])
    pos = np.concatenate([[0], np.cumsum(inside)])
    none = [None] * (rank - 1)
    return SparseTensor.from_levels(
        f"({dims}) -> ({levels})", (*rows, last), [*none, pos], [*none, crd], np.ones(crd.size, dtype.numpy)
    )
