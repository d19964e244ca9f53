"""Batches and slices, and the plain storage that corresponds to them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.encoding.buffer_layout import check_sliceable
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.errors import ExtentError, OperandError, RankError, TooLargeError
from mlir_sparse.tensor.batch_levels import batch_depth, from_batches, to_batches
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = [
    "from_plain",
    "is_plain",
    "is_whole_slice",
    "plain_encoding",
    "slice_parent",
    "slice_view",
    "sliced",
    "to_plain",
]


@fact_of  # calls ask it of their operands
def is_plain(encoding: Encoding) -> bool:
    """Returns whether an encoding has neither batches nor slices."""
    return not encoding.has_slices and batch_depth(encoding) == 0


def plain_encoding(encoding: Encoding) -> Encoding:
    """Returns the encoding without slices and with a dense level for each batch level.

    >>> from mlir_sparse.encoding import encoding
    >>> plain_encoding(encoding("BatchedCSR")).map_text()
    '(i, j, k) -> (i : dense, j : dense, k : compressed)'
    """
    if is_plain(encoding):
        return encoding
    depth = batch_depth(encoding)
    dense = tuple(replace(spec, type=LevelType(LevelFormat.DENSE)) for spec in encoding.levels[:depth])
    # Positions of a batch start at 0: their width may be too small for the positions of all batches together.
    width = 0 if depth else encoding.pos_width
    levels = (*dense, *encoding.levels[depth:])
    return replace(encoding, levels=levels, slices=(), preset=None, pos_width=width)


def to_plain(storage: LevelStorage) -> LevelStorage:
    """Returns plain storage of all batches, one after the other, or of a slice's parent."""
    plain = plain_encoding(storage.encoding)
    if batch_depth(storage.encoding):
        return from_batches(storage, plain)
    return LevelStorage.from_buffers(plain, storage.level_sizes, storage.buffers())


def from_plain(storage: LevelStorage, shape: Sequence[int], encoding: Encoding) -> LevelStorage:
    """Returns plain storage as batches, or as the parent of a slice with the given shape.

    Raises:
        ExtentError: for a slice of another size than the extent.
    """
    if batch_depth(encoding):
        return to_batches(storage, encoding)
    resolved = encoding.with_widths(storage.encoding.pos_width, storage.encoding.crd_width)
    return replace(storage, encoding=resolved, view=slice_view(encoding, shape))


def slice_view(encoding: Encoding, shape: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Returns offset, size and stride in each dimension of a tensor stored as a slice; `?` is the whole dimension.

    Raises:
        ExtentError: for a slice of another size than the extent.

    >>> from mlir_sparse.encoding import encoding
    >>> part = encoding("(i : #sparse_tensor<slice(1, 3, 2)>, j) -> (i : dense, j : compressed)")
    >>> slice_view(part, (3, 8)), slice_parent(part, (3, 8))
    (((1, 3, 2), (0, 8, 1)), (6, 8))
    """
    for dim, (given, extent) in enumerate(zip(encoding.slices, shape, strict=True)):
        if given is not None and given.size not in (None, extent):
            raise ExtentError(
                f"expected a tensor of extent {given.size} in dimension {dim}, the size of {given}, to store it as "
                f"that slice, but got shape {tuple(shape)}: take a part of a tensor with A.slice(...)"
            )
    parts = ((part or DimSlice(), extent) for part, extent in zip(encoding.slices, shape, strict=True))
    return tuple((part.offset or 0, extent, part.stride or 1) for part, extent in parts)


def slice_parent(encoding: Encoding, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the least extents of the parent, given the extents of the slice that an encoding names.

    Raises:
        TooLargeError: for extents that do not fit in 64 bits.
    """
    view = slice_view(encoding, shape)
    extents = tuple(offset + (size - 1) * stride + 1 if size else 0 for offset, size, stride in view)
    if max(extents, default=0) >= 1 << 63:
        raise TooLargeError(f"expected extents of less than 2^63, but got {extents} of which {shape} are the slice")
    return extents


def is_whole_slice(encoding: Encoding, shape: Sequence[int]) -> bool:
    """Returns whether an encoding has no slice, or names the slice of the whole tensor."""
    return not encoding.has_slices or all(o == 0 and t == 1 for o, _, t in slice_view(encoding, shape))


def sliced(
    storage: LevelStorage, shape: Sequence[int], slices: Sequence[slice | DimSlice]
) -> tuple[LevelStorage, tuple[int, ...]]:
    """Returns storage of a slice, which shares all buffers with the whole, and the slice's shape.

    Raises:
        RankError: for another number of slices.
        OperandError: for slices that are out of range, empty or unknown.
        UnsupportedError: for levels that are not dimensions.
    """
    if len(slices) != len(shape):
        raise RankError(f"expected a slice for each of the {len(shape)} dimensions, but got {len(slices)}")
    check_sliceable(storage.encoding)
    wanted = tuple(_dim_slice(dim, s, extent) for dim, (s, extent) in enumerate(zip(slices, shape, strict=True)))
    parents = storage.view or ((0, 0, 1),) * len(shape)
    view = tuple((o + start * t, s, step * t) for (o, _, t), (start, s, step) in zip(parents, wanted, strict=True))
    encoding = replace(storage.encoding, slices=tuple(DimSlice(*part) for part in view), preset=None)
    return replace(storage, encoding=encoding, view=view), tuple(size for _, size, _ in view)


def _dim_slice(dim: int, given: slice | DimSlice, extent: int) -> tuple[int, int, int]:
    """Returns offset, size and stride within the dimension."""
    if not isinstance(given, slice | DimSlice):
        raise OperandError(f"expected a slice of dimension {dim}, but got {given!r}: write slice({given!r}, ...)")
    if isinstance(given, slice):
        start, stop, step = _bounds(dim, given, extent)
        if start < 0 or step < 1 or stop > extent:
            raise OperandError(f"expected a slice inside 0..{extent} of dimension {dim}, but got {given}")
        offset, size, stride = start, len(range(start, stop, step)), step
    elif given.offset is None or given.size is None or given.stride is None:
        raise OperandError(f"expected offset, size and stride of dimension {dim}, but got {given}")
    else:
        offset, size, stride = given.offset, given.size, given.stride
    if size < 1:
        raise OperandError(f"expected a slice of 1 element or more of dimension {dim}, but got {given}")
    last = offset + (size - 1) * stride
    if last >= extent:
        raise OperandError(
            f"expected a slice inside dimension {dim} of extent {extent}, but got {given}, whose last element is {last}"
        )
    return offset, size, stride


def _bounds(dim: int, given: slice, extent: int) -> tuple[int, int, int]:
    """Returns start, stop and step of Python's slice."""
    wanted = ((given.start, 0), (given.stop, extent), (given.step, 1))
    try:
        start, stop, step = (default if bound is None else operator.index(bound) for bound, default in wanted)
    except TypeError:
        raise OperandError(f"expected integers as the bounds of dimension {dim}, but got {given}") from None
    return start, stop, step
