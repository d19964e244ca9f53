"""What einsum takes where operands are `dask.array`s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = ["check_in_chunks"]


def check_in_chunks(
    values: Sequence[Any], labels: Sequence[Labels], out: Any, *, limited: bool, by_columns: bool
) -> None:
    """Refuses what needs operands in memory.

    Args:
        values: the operands, some of them in chunks.
        labels: for each the index of each axis.
        out: the storage of the result, or an array for it.
        limited: whether intermediates have a limit, which only data tells.
        by_columns: whether the result is asked for by columns.

    Raises:
        UnsupportedError: with what to do instead.
        OperandError: for an array for the result.
    """
    for number, (value, names) in enumerate(zip(values, labels, strict=True)):
        if is_in_chunks(value) and len(set(names)) < len(names):
            raise UnsupportedError(
                f"expected each index of a dask.array once, but got `{''.join(names)}` for operand {number}: multiply "
                "by an identity matrix, as in `ij,ij->i`"
            )
    if isinstance(out, np.ndarray):
        raise OperandError(
            "expected the storage of the result for out=, but got an array: leave it out, and write what is "
            "computed to it, `out[...] = found.compute()`"
        )
    if limited or by_columns:
        given = "limit in optimize=" if limited else 'order="F"'
        raise UnsupportedError(f"expected no {given} for dask.arrays, but got one: leave it out, or compute them first")
