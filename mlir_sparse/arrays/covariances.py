"""Covariances of variables whose samples are mostly zero: centred without a dense copy.

The product of centred samples is summed over four kinds of pairs: both stored, either, or none. What is stored is
centred by itself and what is missing is minus the mean, so that no large sums cancel, as they do in the mean of
products less the product of means.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.wide_values import widened
from mlir_sparse.dtypes import REAL
from mlir_sparse.errors import ExtentError, OperandError, RankError
from mlir_sparse.text.given_arguments import shown

__all__ = ["corrcoef", "cov"]


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """Returns the covariances of variables, a dense matrix.

    Args:
        m: samples: a variable a row, of one sample a column.
        y: more variables of the same samples.
        rowvar: whether rows are variables; else columns are.
        bias: whether sums are divided by the number of samples, and not by one less.
        ddof: what is subtracted from the number of samples in place of that.
        fweights: how often each sample was observed, integers.
        aweights: the weight of each sample.
        dtype: the element type of the result; at least float64 when None.

    Raises:
        RankError: for operands of more than two dimensions.
        ExtentError: for another number of samples or weights.
        OperandError: for weights that are negative, or no integers where they are counts, and for another `ddof`.
        TooLargeError: for a result that would not fit in memory.

    >>> from mlir_sparse.tensor import tensor
    >>> cov(tensor([[0.0, 0.0, 3.0], [0.0, 6.0, 0.0]])).tolist()
    [[3.0, -3.0], [-3.0, 12.0]]
    """
    operands = [one if hasattr(one, "ndim") else np.asarray(one) for one in (m, y) if one is not None]
    if any(one.ndim > 2 for one in operands):
        raise RankError(
            f"expected operands of two dimensions or fewer for np.cov, but got {max(o.ndim for o in operands)}"
        )
    if ddof is not None and ddof != int(ddof):
        raise OperandError(f"expected an integer for ddof=, but got {shown(ddof)}")
    kind = np.dtype(dtype) if dtype is not None else np.result_type(REAL.numpy, *map(_simple_type, operands))
    rows = [_by_rows(one, rowvar, at > 0).astype(kind) for at, one in enumerate(operands)]
    if rows[0].shape[0] == 0:
        return np.zeros((0, 0), kind)
    if len({one.shape[1] for one in rows}) > 1:
        raise ExtentError(f"expected as many samples of y, but got shapes {[one.shape for one in rows]}")
    samples = np.concatenate(rows, 0) if len(rows) > 1 else rows[0]
    count, lost = samples.shape[1], (0 if bias else 1) if ddof is None else int(ddof)
    counts, weights = (_weights(name, one, count) for name, one in (("fweights", fweights), ("aweights", aweights)))
    each = np.ones(count)
    for given in (counts, weights):
        each = each if given is None else each * given
    total = each.sum()
    share = total - lost if weights is None or lost == 0 else total - lost * (each * weights).sum() / total
    if share <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        share = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = _centred_products(samples, each, total) * np.true_divide(1, share)
    return found.astype(kind, copy=False).squeeze()


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Returns the correlation coefficients of variables, a dense matrix; arguments and errors are those of `cov`.

    >>> from mlir_sparse.tensor import tensor
    >>> corrcoef(tensor([[0.0, 0.0, 3.0], [0.0, 0.0, -6.0]])).round(12).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    found: Any = cov(x, y, rowvar, dtype=dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        if found.ndim == 0:
            return found / found
        deviations = np.sqrt(np.diag(found).real)
        found = found / deviations[:, None] / deviations[None, :]
    if found.dtype.kind != "c":
        return np.clip(found, -1, 1)
    return np.clip(found.real, -1, 1) + 1j * np.clip(found.imag, -1, 1)


def _simple_type(operand: Any) -> np.dtype[Any]:
    wide = widened(operand) if hasattr(operand, "nse") else None
    return operand.dtype if wide is None else wide.dtype  # type: ignore[no-any-return]


def _by_rows(operand: Any, rowvar: bool, is_second: bool) -> Any:
    """Returns a matrix with a variable a row."""
    matrix = np.reshape(operand, (1, -1)) if operand.ndim < 2 else operand
    is_row = matrix.shape[0] == 1 if is_second else operand.ndim < 2
    return matrix if rowvar or is_row else np.transpose(matrix)


def _weights(name: str, given: Any, count: int) -> Array | None:
    if given is None:
        return None
    found = np.asarray(given, REAL.numpy)
    if found.shape != (count,):
        raise ExtentError(f"expected {name}= of shape {(count,)}, one for each sample, but got {found.shape}")
    if (found < 0).any() or (name == "fweights" and (found != np.around(found)).any()):
        raise OperandError(f"expected {name}= that are {'integers and ' if name == 'fweights' else ''}not negative")
    return found


def _centred_products(samples: Any, each: Array, total: Any) -> Array:
    """Returns the weighted sums over samples of products of two centred variables."""
    size = samples.shape[0]
    check_dense_fits((size, size), samples.dtype)
    if not hasattr(samples, "nse"):
        means = (samples * each).sum(axis=1) / total
        dense = samples - means[:, None]
        return (dense * each) @ dense.conj().T  # type: ignore[no-any-return]
    entries = entries_of(samples)
    row, column = (dim.astype(np.int64, copy=False) for dim in entries.dims)
    weight = each[column]
    stored = np.zeros(size)
    np.add.at(stored, row, weight)
    sums = np.zeros(size, samples.dtype)
    np.add.at(sums, row, entries.values * weight)
    means = sums / total
    apart = entries.values - means[row]
    own = np.zeros(size, samples.dtype)
    np.add.at(own, row, apart * weight)

    def matrix(values: Array) -> Any:
        return EntryList((row, column), values, samples.shape).tensor()

    def product(left: Any, right: Any) -> Array:
        found = left @ right.T
        return found if isinstance(found, np.ndarray) else found.to_numpy()

    here, there = matrix(apart), matrix(weight)
    pattern = matrix(np.ones(weight.size))
    both = product(matrix(apart * weight), matrix(apart.conj()))
    beside = own[:, None] - product(here, there)  # the first is stored, the second is missing
    neither = total - stored[:, None] - stored[None, :] + product(pattern, there)
    centred: Array = (
        both
        - beside * means.conj()[None, :]
        - means[:, None] * beside.conj().T
        + np.outer(means, means.conj()) * neither
    )
    return centred
