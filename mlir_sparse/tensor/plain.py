"""Encodings of parts: batches and slices, and the plain storage that their buffers are taken from or made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.encoding.encoding import Encoding
from mlir_sparse.encoding.level import LevelFormat, LevelType
from mlir_sparse.encoding.slice import DimSlice
from mlir_sparse.errors import OperandError, RankError, UnsupportedError
from mlir_sparse.tensor.batches import batch_depth, from_batches, to_batches
from mlir_sparse.tensor.layout import check_sliceable
from mlir_sparse.tensor.storage import LevelStorage

__all__ = ["from_plain", "is_plain", "plain_encoding", "sliced", "to_plain"]


def is_plain(encoding: Encoding) -> bool:
    """Returns whether an encoding is of one whole tensor: no batches, no slices."""
    return not encoding.has_slices and batch_depth(encoding) == 0


def plain_encoding(encoding: Encoding) -> Encoding:
    """Returns the encoding of one whole tensor, with a dense level for each batch level.

    >>> from mlir_sparse.encoding import encoding
    >>> plain_encoding(encoding("BatchedCSR")).map_text()
    '(i, j, k) -> (i : dense, j : dense, k : compressed)'
    """
    if is_plain(encoding):
        return encoding
    depth = batch_depth(encoding)
    dense = tuple(replace(spec, type=LevelType(LevelFormat.DENSE)) for spec in encoding.levels[:depth])
    # Positions of a batch start at 0: a width that holds them need not hold those of all batches together.
    width = 0 if depth else encoding.pos_width
    levels = (*dense, *encoding.levels[depth:])
    return replace(encoding, levels=levels, slices=(), preset=None, pos_width=width)


def to_plain(storage: LevelStorage) -> LevelStorage:
    """Returns plain storage of what the buffers hold: all batches, one after the other, or a slice's parent."""
    plain = plain_encoding(storage.encoding)
    if batch_depth(storage.encoding):
        return from_batches(storage, plain)
    return LevelStorage.from_buffers(plain, storage.level_sizes, storage.buffers())


def from_plain(storage: LevelStorage, shape: Sequence[int], encoding: Encoding) -> LevelStorage:
    """Returns plain storage laid out in batches, or as the slice that is everything.

    Raises:
        UnsupportedError: for a slice that leaves out something.
    """
    if batch_depth(encoding):
        return to_batches(storage, encoding)
    for dim, (given, extent) in enumerate(zip(encoding.slices, shape, strict=True)):
        offset, size, stride = given.offset or 0, given.size, given.stride or 1  # type: ignore[union-attr]  # all or none
        if offset or size not in (None, extent) or stride != 1:
            raise UnsupportedError(
                f"expected the slice of a whole dimension, slice(0, {extent}, 1), to store a tensor of shape "
                f"{tuple(shape)}, but got {given} of dimension {dim}: slice the tensor itself, with A.slice(...)"
            )
    resolved = encoding.with_widths(storage.encoding.pos_width, storage.encoding.crd_width)
    view = tuple((0, extent, 1) for extent in shape)
    return replace(storage, encoding=resolved, view=view)


def sliced(
    storage: LevelStorage, shape: Sequence[int], slices: Sequence[slice | DimSlice]
) -> tuple[LevelStorage, tuple[int, ...]]:
    """Returns storage of a part of a tensor, which shares all buffers, and the part's shape.

    Args:
        storage: the parent's, or that of a slice.
        shape: the parent's shape.
        slices: one for each dimension.

    Raises:
        RankError: for another number of slices.
        OperandError: for slices out of range, empty or not known.
        UnsupportedError: where levels are not dimensions.
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
    """Returns offset, size and stride, inside the dimension."""
    if not isinstance(given, slice | DimSlice):
        raise OperandError(f"expected a slice of dimension {dim}, but got {given!r}: write slice({given!r}, ...)")
    if isinstance(given, slice):
        start, step = given.start or 0, 1 if given.step is None else given.step
        stop = extent if given.stop is None else given.stop
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
