"""Other libraries' arrays that need no conversion: tensors that share them, by one native check.

To find out what arrays become takes ten times as long as to look at them. What was found out is kept by their levels
and types. The arrays are looked at each time.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.buffer_layout import level_tuples
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.tensor.borders.foreign_parts import ForeignParts
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["keep_known", "shared_parts"]

# Of longer axes, coordinates of 32 bits do not say whether they are in range.
_LONGEST = 2**31 - 1
_MOST = 512


@dataclass(frozen=True, slots=True)
class _Known:
    """What arrays of some levels and types become.

    Args:
        given: the levels, which the key has by identity.
        encoding: the encoding, with widths.
        dtype: the element type.
        levels: what native code checks levels by, of any size.
    """

    given: Encoding
    encoding: Encoding
    dtype: DType
    levels: tuple[Any, ...]


_forms: dict[Hashable, _Known] = {}


def shared_parts(parts: ForeignParts) -> SparseTensor | None:
    """Returns a tensor on arrays that are its levels as they are; None for what must be looked at again."""
    form = _forms.get(_key(parts))
    if form is None or max(parts.shape) > _LONGEST or min(parts.shape) < 0:
        return None
    sizes = tuple([parts.shape[dim] for dim in form.encoding.level_order])
    storage = _listed(parts, form, sizes) if parts.is_list else _rows(parts, form, sizes)
    return None if storage is None else SparseTensor._from_parts(parts.shape, storage, form.dtype)


def _rows(parts: ForeignParts, form: _Known, sizes: tuple[int, ...]) -> LevelStorage | None:
    found = _native.share_rows(parts.positions[1], parts.coordinates[1], parts.values, *sizes)
    if found is None:
        return None
    pos, crd, stored = found
    return LevelStorage(form.encoding, sizes, (None, pos), (None, crd), stored, _buffers=found)


def _listed(parts: ForeignParts, form: _Known, sizes: tuple[int, ...]) -> LevelStorage | None:
    if any(array.ndim != 1 or array.size != parts.values.size for array in (parts.values, *parts.coordinates)):  # type: ignore[union-attr]
        return None
    levels = [(*level[:4], size, level[5]) for level, size in zip(form.levels, sizes, strict=True)]
    try:
        _native.validate(levels, parts.positions, parts.coordinates, parts.values.size)
    except _native.LevelFault:
        return None
    return LevelStorage.from_buffers(form.encoding, sizes, _buffers(parts))


def keep_known(parts: ForeignParts, made: SparseTensor) -> None:
    """Keeps what arrays became, if the tensor has them as they are."""
    simple = made.encoding.is_permutation and made.encoding.is_native and not made.encoding.has_padding
    if not simple or made.type.dtype.is_truth or not (parts.is_list or len(parts.shape) == 2):
        return  # the bytes of truth values are looked at
    if made.storage.encoding.level_types != parts.encoding.level_types:
        return
    ours, theirs = made.storage.buffers(), _buffers(parts)
    if len(ours) == len(theirs) and all(map(_same, ours, theirs)) and _same_address(ours[-1], theirs[-1]):
        if len(_forms) >= _MOST:
            _forms.clear()
        levels = tuple(level_tuples(made.encoding, made.storage.level_sizes))
        _forms[_key(parts)] = _Known(parts.encoding, made.encoding, made.type.dtype, levels)


def _buffers(parts: ForeignParts) -> list[Array]:
    if parts.interleaved is not None:
        structure = [parts.positions[0], parts.interleaved.reshape(-1)]
    else:
        pairs = zip(parts.positions, parts.coordinates, strict=True)
        structure = [array for pair in pairs for array in pair]
    return [array for array in (*structure, parts.values) if array is not None]


def _key(parts: ForeignParts) -> Hashable:
    arrays = (*parts.positions, *parts.coordinates)
    return (
        id(parts.encoding),
        parts.interleaved is None,
        *[None if array is None else array.dtype for array in arrays],
        parts.values.dtype,
        parts.values.flags.c_contiguous and parts.values.flags.aligned,
    )


def _same(ours: Array, theirs: Array) -> bool:
    same: bool = ours.dtype == theirs.dtype and ours.shape == theirs.shape
    return same


def _same_address(ours: Array, theirs: Array) -> bool:
    same: bool = ours.ctypes.data == theirs.ctypes.data
    return same
