"""Other libraries' arrays that need no conversion: tensors that share them, by one native check.

To find out what arrays become takes ten times as long as to look at them. What was found out is kept by their layout
and types. The arrays are looked at each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.borders.foreign_parts import FAULTS, Entries, Given, Lines
from mlir_sparse.tensor.borders.known_classes import keep_class
from mlir_sparse.tensor.filled_tensor import filled
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["keep_form", "keep_reader", "shared_tensor"]

# Of longer axes, coordinates of 32 bits do not say whether they are in range.
_LONGEST = 2**31 - 1
_MOST = 512


@dataclass(frozen=True, slots=True)
class _Form:
    """What arrays of one layout and of some types become.

    Args:
        encoding: the encoding, with widths.
        dtype: the element type.
        by_rows: whether dimensions are levels in their order.
    """

    encoding: Encoding
    dtype: DType
    by_rows: bool


_forms: dict[Hashable, _Form] = {}


def shared_tensor(given: Given) -> Any:
    """Returns a tensor on arrays that are its levels as they are; None for what must be looked at again.

    One of a fill value is a FilledTensor.
    """
    kind = type(given)
    if kind is Lines:
        made = _lines(given)  # type: ignore[arg-type]  # as it is
    elif kind is Entries:
        made = _entries(given)  # type: ignore[arg-type]  # likewise
    else:
        return None
    return made if made is None or given.fill is None else filled(made, given.fill)


def _lines(given: Lines) -> SparseTensor | None:
    name, extents, positions, coordinates, values, _ = given
    shape = tuple(map(int, extents))  # of some libraries' arrays they are NumPy's integers
    block = values.shape[1:]
    form = _forms.get((name, positions.dtype, coordinates.dtype, values.dtype, block))
    if form is None or len(shape) != 2 or max(shape) > _LONGEST:
        return None
    if block:
        return _blocks(given, shape, form)
    sizes = shape if form.by_rows else (shape[1], shape[0])
    found = _native.share_rows(positions, coordinates, values, *sizes)
    if found is None:
        return None
    pos, crd, stored = found
    storage = LevelStorage(form.encoding, sizes, (None, pos), (None, crd), stored, _buffers=found)
    return SparseTensor._from_parts(shape, storage, form.dtype)


def _blocks(given: Lines, shape: tuple[int, ...], form: _Form) -> SparseTensor | None:
    """Returns blocks that fill the matrix: what reaches beyond its edge is looked at."""
    _, _, positions, coordinates, values, _ = given
    if len(values.shape) != 3 or not values.flags.c_contiguous:
        return None
    (rows, row_rest), (columns, column_rest) = map(divmod, shape, values.shape[1:])
    if row_rest or column_rest:
        return None
    lines, places = (rows, columns) if form.by_rows else (columns, rows)
    area = values.shape[1] * values.shape[2]
    found = _native.share_rows(positions, coordinates, values.reshape(-1), lines, places, area)
    if found is None:
        return None
    pos, crd, stored = found
    sizes, none = (lines, places, *values.shape[1:]), (None, None)
    storage = LevelStorage(form.encoding, sizes, (None, pos, *none), (None, crd, *none), stored, _buffers=found)
    return SparseTensor._from_parts(shape, storage, form.dtype)


def _entries(given: Entries) -> SparseTensor | None:
    extents, indices, values, interleaved, _, _ = given
    if type(indices) is tuple:
        return None
    shape = tuple(map(int, extents))
    rank = len(shape)
    form = _forms.get((rank, interleaved, indices.dtype, values.dtype))  # type: ignore[union-attr]  # as it is
    if form is None or max(shape) > _LONGEST:
        return None
    found = _native.share_entries(indices, values, shape, interleaved)
    if found is None:
        return None
    first, columns, flat, stored = found
    buffers = (first, *columns, stored) if flat is None else (first, flat, stored)
    positions = (first, *[None] * (rank - 1))
    storage = LevelStorage(form.encoding, shape, positions, columns, stored, _buffers=buffers)
    return SparseTensor._from_parts(shape, storage, form.dtype)


def keep_form(given: Given, made: SparseTensor) -> bool:
    """Keeps what arrays became, if the tensor has them as they are; returns whether it has."""
    encoding, ours = made.encoding, made.storage.buffers()
    if not encoding.is_native or made.type.dtype.is_truth:  # the bytes of truth values are looked at
        return False
    key: Hashable
    if type(given) is Lines and len(given.shape) == 2:
        theirs = [given.positions, given.coordinates, given.values]
        key = (given.format, *[array.dtype for array in theirs], given.values.shape[1:])
        by_rows = given.by_rows
    elif type(given) is Entries and type(given.indices) is not tuple:
        indices: Array = given.indices  # type: ignore[assignment]  # as it is
        if indices.ndim != 2 or indices.shape[1 if given.interleaved else 0] != len(given.shape):
            return False  # the last dimensions are dense
        # The positions of a list are made for it.
        lines = [indices.reshape(-1)] if given.interleaved or len(given.shape) == 1 else list(indices)
        ours, theirs = ours[1:], [*lines, given.values]
        key, by_rows = (len(given.shape), given.interleaved, indices.dtype, given.values.dtype), True
    else:
        return False
    if len(ours) != len(theirs) or not all(map(_shares, ours, theirs)):
        return False
    if len(_forms) >= _MOST:
        _forms.clear()
    _forms[key] = _Form(encoding, made.type.dtype, by_rows)
    return True


def keep_reader(kind: type, reader: Callable[[Any], Given | None]) -> None:
    """Keeps that a function returns the arrays of a class, or None for those that need more."""

    def maker(source: Any) -> Any:
        try:
            given = reader(source)
            return None if given is None else shared_tensor(given)
        except FAULTS:  # which those who look at everything name
            return None

    keep_class(kind, maker)


def _shares(ours: Array, theirs: Array) -> bool:
    same: bool = ours.dtype == theirs.dtype and ours.size == theirs.size and ours.ctypes.data == theirs.ctypes.data
    return same
