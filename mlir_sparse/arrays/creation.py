"""Functions that make tensors of nothing but their arguments."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mlir_sparse.arrays import join_axes, matrix_products
from mlir_sparse.arrays import reshape as shapes
from mlir_sparse.arrays.entry_lists import check_dense_fits
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.dtypes import REAL, DType, numpy_dtype
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import ExtentError, OperandError, RankError
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.convert.row_passes import is_list_by_rows
from mlir_sparse.tensor.dense_entries import lists_entries
from mlir_sparse.text.given_arguments import integer_of, integers_of, refuses_by_name

__all__ = [
    "arange",
    "block",
    "diags",
    "empty",
    "eye",
    "from_coo",
    "full",
    "kron",
    "linspace",
    "ones",
    "random",
    "tril",
    "triu",
    "zeros",
]

_DEFAULTS = {1: "SparseVector", 2: "CSR"}


def _kind(dtype: Any) -> Any:
    return REAL.numpy if dtype is None else numpy_dtype(dtype)


def _extents(shape: Any) -> tuple[int, ...]:
    return integers_of((shape,) if isinstance(shape, int | np.integer) else shape, "a shape")


def _narrow(coordinates: Array, shape: tuple[int, ...]) -> Array:
    """Returns coordinates in 32 bits where they fit."""
    return coordinates.astype(np.int32) if max(shape, default=0) <= np.iinfo(np.int32).max else coordinates


def _check_host(device: Any) -> None:
    if device not in (None, "cpu"):
        raise OperandError(f"expected device='cpu' for a new tensor, but got {device!r}: use .to({device!r})")


@refuses_by_name("ms.from_coo")
def from_coo(
    coordinates: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    encoding: str | Encoding | None = None,
    **options: Any,
) -> SparseTensor:
    """Returns a tensor of entries, as `tensor((coordinates, values))` does; options are those of `tensor`.

    >>> from_coo([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_numpy().tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """
    return tensor((coordinates, values), encoding, shape=shape, **options)


@refuses_by_name("ms.zeros")
def zeros(
    shape: int | Sequence[int],
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding | None = None,
    device: Any = None,
) -> Any:
    """Returns a tensor without entries: SparseVector, CSR or CSF by its rank; an array where that is 0.

    >>> zeros((2, 3)).nse
    0
    """
    _check_host(device)
    extents = _extents(shape)
    if not extents:
        return np.zeros((), _kind(dtype))
    nothing = np.zeros((len(extents), 0), np.int32)
    wanted = encoding or _DEFAULTS.get(len(extents), "CSF")
    return tensor((nothing, np.zeros(0, _kind(dtype))), wanted, shape=extents)


empty = zeros


@refuses_by_name("ms.full")
def full(
    shape: int | Sequence[int],
    fill_value: complex,
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding | None = None,
    device: Any = None,
    stored: bool = True,
) -> Any:
    """Returns one value everywhere: a NumPy array, as dense results are, or a tensor where an encoding is asked for.

    Args:
        shape: the extents.
        fill_value: the value.
        dtype: the element type, that of the value when None.
        encoding: any argument of `encoding`.
        device: `cpu`, or None.
        stored: False stores nothing: the result is a tensor without entries whose fill value this is.

    Raises:
        TooLargeError: for an array that would not fit in memory.

    >>> full((10**6, 10**6), np.inf, stored=False).nse
    0
    """
    _check_host(device)
    extents = _extents(shape)
    found = np.asarray(fill_value) if dtype is None else np.asarray(fill_value).astype(numpy_dtype(dtype))
    if not stored and extents:
        kept = zeros(extents, dtype=found.dtype, encoding=encoding)
        return kept.with_fill(found[()])
    check_dense_fits(extents, found.dtype)
    array = np.full(extents, found)
    return array if encoding is None else tensor(array, encoding)


@refuses_by_name("ms.ones")
def ones(
    shape: int | Sequence[int],
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding | None = None,
    device: Any = None,
) -> Any:
    """Returns ones everywhere, as `full` does.

    >>> ones(2), ones((2, 2), encoding="CSR").nse
    (array([1., 1.]), 4)
    """
    return full(shape, 1, dtype=_kind(dtype), encoding=encoding, device=device)


@refuses_by_name("ms.arange")
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding | None = None,
    device: Any = None,
) -> Any:
    """Returns NumPy's `arange`: an array, or a tensor where an encoding is asked for."""
    _check_host(device)
    first: Any = 0 if stop is None else start
    last: Any = start if stop is None else stop
    steps: Any = step
    array = np.arange(first, last, steps, dtype=None if dtype is None else numpy_dtype(dtype))
    return array if encoding is None else tensor(array, encoding)


@refuses_by_name("ms.linspace")
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DTypeLike | DType | None = None,
    endpoint: bool = True,
    encoding: str | Encoding | None = None,
    device: Any = None,
) -> Any:
    """Returns NumPy's `linspace`: an array, or a tensor where an encoding is asked for."""
    _check_host(device)
    kind = None if dtype is None else numpy_dtype(dtype)
    array = np.linspace(start, stop, num, endpoint, dtype=kind)
    return array if encoding is None else tensor(array, encoding)


@refuses_by_name("ms.eye")
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding = "CSR",
    device: Any = None,
) -> SparseTensor:
    """Returns ones on a diagonal.

    Args:
        n_rows: the number of rows.
        n_cols: that of columns, as many when None.
        k: the diagonal: 0 the main one, above it positive.
        dtype: the element type, f64 when None.
        encoding: any argument of `encoding`.
        device: `cpu`, or None.

    >>> eye(3, k=1).to_coo()[0].tolist()
    [[0, 1], [1, 2]]
    """
    _check_host(device)
    rows, columns = _extents((n_rows, n_rows if n_cols is None else n_cols))
    k = integer_of(k, "k")
    first, last = max(0, -k), min(rows, columns - k)
    places = np.arange(first, max(first, last), dtype=np.int64)
    ones = np.ones(places.size, _kind(dtype))
    return tensor((_narrow(np.stack([places, places + k]), (rows, columns)), ones), encoding, shape=(rows, columns))


@refuses_by_name("ms.diags")
def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding = "CSR",
) -> SparseTensor:
    """Returns a matrix of diagonals, as SciPy's `diags_array` does.

    Args:
        diagonals: an array, or one for each offset, of the length of its diagonal, or of one number for all of it.
        offsets: the diagonal of each: 0 the main one, above it positive.
        shape: the extents; the least square that holds the first diagonal when None.
        dtype: the element type, the common one when None.
        encoding: any argument of `encoding`.

    Raises:
        ExtentError: for a diagonal of another length.
        OperandError: for another number of offsets, or one twice.

    >>> diags([[1.0, 2.0], [5.0]], [0, 1]).to_numpy().tolist()
    [[1.0, 5.0], [0.0, 2.0]]
    """
    single = np.ndim(offsets) == 0
    steps = [int(offsets)] if single else [int(step) for step in offsets]
    given = [np.atleast_1d(np.asarray(one)) for one in ([diagonals] if single and _is_flat(diagonals) else diagonals)]
    if len(given) != len(steps) or len(set(steps)) != len(steps):
        raise OperandError(f"expected a diagonal for each offset, once, but got {len(given)} for {steps}")
    extents = _extents(shape) if shape is not None else (len(given[0]) + abs(steps[0]),) * 2
    if len(extents) != 2:
        raise RankError(f"expected a matrix of diagonals, but got shape {extents}")
    rows, columns, values = [], [], []
    for one, step in zip(given, steps, strict=True):
        first, last = max(0, -step), min(extents[0], extents[1] - step)
        length = max(last - first, 0)
        if one.ndim != 1 or one.size not in (1, length):
            raise ExtentError(f"expected {length} elements on diagonal {step} of {extents}, but got shape {one.shape}")
        places = np.arange(first, first + length, dtype=np.int64)
        rows.append(places)
        columns.append(places + step)
        values.append(np.broadcast_to(one, (length,)))
    joined = np.concatenate(values) if values else np.zeros(0)
    coordinates = np.stack([np.concatenate(rows), np.concatenate(columns)]) if values else np.zeros((2, 0), np.int64)
    return tensor((_narrow(coordinates, extents), joined), encoding, shape=extents, dtype=dtype)


def _is_flat(diagonals: Any) -> bool:
    return (isinstance(diagonals, np.ndarray) and diagonals.ndim == 1) or np.ndim(diagonals[0]) == 0


@refuses_by_name("ms.random")
def random(
    shape: int | Sequence[int],
    density: float = 0.01,
    *,
    dtype: DTypeLike | DType | None = None,
    encoding: str | Encoding | None = None,
    rng: Any = None,
    count: int | None = None,
) -> SparseTensor:
    """Returns a tensor with uniform values in [0, 1) at a share of its places, which are drawn without repeats.

    Args:
        shape: the extents.
        density: the share, from 0 to 1.
        dtype: the element type, f64 when None.
        encoding: any argument of `encoding`; by default SparseVector, CSR or CSF by the rank.
        rng: a generator of NumPy's, or what seeds one.
        count: the number of entries, instead of a share.

    Raises:
        OperandError: for a share, or a number of entries, out of range.

    >>> random((10, 20), 0.1, rng=0).nse
    20
    """
    extents = _extents(shape)
    if not 0 <= density <= 1:
        raise OperandError(f"expected a density from 0 to 1, but got {density}")
    size = prod(extents)
    if not extents or size > np.iinfo(np.int64).max:
        raise RankError(f"expected one dimension or more of less than 2^63 elements, but got shape {extents}")
    generator = np.random.default_rng(rng)
    count = round(size * density) if count is None else operator.index(count)
    if not 0 <= count <= size:
        raise OperandError(f"expected from 0 to {size} entries, but got {count}")
    places = np.sort(_drawn(generator, size, count))
    dims = np.stack(np.unravel_index(places, extents)) if count else np.zeros((len(extents), 0), np.int64)
    wanted = encoding or _DEFAULTS.get(len(extents), "CSF")
    return tensor((_narrow(dims, extents), generator.random(count).astype(_kind(dtype))), wanted, shape=extents)


def _drawn(generator: np.random.Generator, size: int, count: int) -> Any:
    """Returns distinct places; of a large range those that are drawn twice are drawn again."""
    if size <= 4 * count or size < 1 << 20:
        return generator.choice(size, count, replace=False)
    found = np.unique(generator.integers(0, size, count))
    while found.size < count:
        found = np.unique(np.concatenate([found, generator.integers(0, size, count - found.size)]))
    return found


@refuses_by_name("ms.kron")
def kron(a: Any, b: Any) -> Any:
    """Returns the Kronecker product of two tensors or arrays: a block for each element of one, times the other."""
    return matrix_products.kron(a, b)


@refuses_by_name("ms.block")
def block(blocks: Sequence[Sequence[Any]]) -> Any:
    """Returns a matrix of blocks in rows and columns; None is a block of zeros.

    Raises:
        ExtentError: for blocks that do not fit, and for a row or column of None alone.

    >>> block([[eye(2), None], [None, eye(1)]]).to_numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = [[None if one is None else operand_check.value_of("a block", one) for one in row] for row in blocks]
    if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise OperandError("expected rows of equally many blocks, but got others")
    heights = [_extent([one for one in row if one is not None], 0) for row in rows]
    widths = [_extent([row[at] for row in rows if row[at] is not None], 1) for at in range(len(rows[0]))]
    kind = np.result_type(*(one.dtype for row in rows for one in row if one is not None))
    like = next((one.encoding for row in rows for one in row if isinstance(one, SparseTensor)), None)
    whole = [
        join_axes.concatenated(
            [_made(one, (height, width), kind, like) for one, width in zip(row, widths, strict=True)], 1
        )
        for row, height in zip(rows, heights, strict=True)
    ]
    return join_axes.concatenated(whole, 0)


def _made(one: Any, shape: tuple[int, int], kind: Any, like: Encoding | None) -> SparseTensor:
    """Returns a block as a tensor; one of zeros in the storage of the others, if that lists entries: so they join."""
    if one is None:
        found: SparseTensor = zeros(shape, dtype=kind)
        if like is None or not (lists_entries(like) is not None or is_list_by_rows(like)):
            return found
        return found.convert(like if like.pos_width == like.crd_width == 64 else like.with_widths(0, 0))
    if one.shape != shape:
        raise ExtentError(f"expected a block of shape {shape}, as its neighbours have, but got {one.shape}")
    return one if isinstance(one, SparseTensor) else tensor(one)


def _extent(given: list[Any], axis: int) -> int:
    if not given:
        raise ExtentError("expected a block other than None in each row and column, but got none")
    if given[0].ndim != 2:
        raise RankError(f"expected matrices as blocks, but got shape {given[0].shape}")
    return int(given[0].shape[axis])


@refuses_by_name("ms.tril")
def tril(m: Any, k: int = 0) -> Any:
    """Returns the elements on and below a diagonal."""
    return shapes.triangle(m, False, k) if isinstance(m, SparseTensor) else np.tril(m, k)


@refuses_by_name("ms.triu")
def triu(m: Any, k: int = 0) -> Any:
    """Returns the elements on and above a diagonal."""
    return shapes.triangle(m, True, k) if isinstance(m, SparseTensor) else np.triu(m, k)
