"""Products of a matrix by one of few columns, some rows at a time.

Before it multiplies, BLAS copies matrices into the order in which its kernels read them, but for small products, which
OpenBLAS computes where they stand (its `interface/gemm.c`, SMALL_MATRIX_OPT). By few columns the copy of a large matrix
takes longer than the product, and blocks of rows that are small products take down to a third of the time.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from mlir_sparse.runtime.together import run_together

__all__ = ["is_thin", "multiply_thin"]

Array = np.ndarray[Any, Any]

# The multiplications of a small product, the most columns of a thin matrix, and the fewest rows of a block.
_SMALL, _COLUMNS, _ROWS = 1_000_000, 64, 16


def is_thin(one: Array, other: Array, out: Array) -> bool:
    """Returns whether a product takes less time some rows at a time: a large matrix by one of few columns."""
    if out.ndim != 2 or not 1 < out.shape[1] <= _COLUMNS or out.dtype not in (np.float32, np.float64):
        return False
    rows = _SMALL // max(1, other.size)
    return rows >= _ROWS and out.shape[0] >= 2 * rows and one.strides[1] == one.itemsize


def multiply_thin(one: Array, other: Array, out: Array, threads: int) -> None:
    """Multiplies a matrix by one of few columns, in the same blocks for any number of threads.

    Args:
        one: the matrix.
        other: that of few columns.
        out: the array for the product.
        threads: on how many threads.
    """
    rows = _SMALL // other.size
    blocks = -(-out.shape[0] // rows)
    bounds = [rows * (blocks * number // threads) for number in range(threads)] + [out.shape[0]]
    run_together(
        [
            partial(_multiply_rows, one[begin:end], other, out[begin:end], rows)
            for begin, end in itertools.pairwise(bounds)
        ]
    )


def _multiply_rows(one: Array, other: Array, out: Array, rows: int) -> None:
    whole = len(out) // rows * rows
    with np.errstate(all="ignore"):
        if whole:
            stack = out[:whole].reshape(-1, rows, out.shape[1])
            np.matmul(one[:whole].reshape(-1, rows, one.shape[1]), other, out=stack)
        if whole < len(out):
            np.matmul(one[whole:], other, out=out[whole:])
