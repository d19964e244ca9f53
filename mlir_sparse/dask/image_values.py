"""What tasks of images compute: the coordinates that a part stores, and the elements with those of an operand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dask.kept_buffers import buffer_for
from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.encoding import TensorType
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.chosen_lines import closes_up, entries_in_lines, lines_closed_up, lines_spread_out

__all__ = [
    "ExpandedOperand",
    "Places",
    "lengths",
    "offered",
    "places_in_chunks",
    "places_of",
    "stored_coordinates",
    "taken",
]

_SPARSE = 16  # coordinates are sorted where the axis has so many times as many
_COPIED = 96 << 10
"""So many bytes are copied at a time: they stay in a cache, and the system gives no new pages for them."""

Array: TypeAlias = np.ndarray[Any, Any]
Places: TypeAlias = slice | Array
"""Ascending coordinates: those of grids follow one another."""


def stored_coordinates(part: SparseTensor, axis: int) -> Array | None:
    """Returns the coordinates of an axis that a part stores, ascending; None where it does not list them.

    >>> from mlir_sparse.tensor import tensor
    >>> stored_coordinates(tensor([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]], "CSR"), 1).tolist()
    [1, 2]
    """
    return kept_while((part,), ("coordinates", axis), lambda: _stored(part, axis))


def _stored(part: SparseTensor, axis: int) -> Array | None:
    encoding = part.encoding
    if encoding.has_slices or encoding.batch_rank or not encoding.is_permutation or encoding.crd_width < 32:
        return None
    crd = part.storage.coordinates[encoding.level_order.index(axis)]
    if crd is None:
        return None
    if crd.size * _SPARSE < part.shape[axis]:
        found = np.unique(crd)
        return found[found >= 0]  # what pads rows is no coordinate
    seen = np.zeros(part.shape[axis] + 1, bool)
    seen[crd] = True  # what pads rows is -1
    return np.flatnonzero(seen[:-1]).astype(_index_type(part.shape[axis]))


def _index_type(extent: int) -> Any:
    return np.int32 if extent < 1 << 31 else np.int64


def places_of(wanted: Array) -> Places:
    """Returns coordinates as few bytes."""
    if wanted.size and int(wanted[-1]) - int(wanted[0]) + 1 == wanted.size:
        return slice(int(wanted[0]), int(wanted[-1]) + 1)
    return wanted.astype(_index_type(int(wanted[-1]) if wanted.size else 0))


def places_in_chunks(part: SparseTensor, axis: int, ends: Sequence[int]) -> list[Places | None]:
    """Returns where the image of a part lies in each chunk of an operand; None for chunks it has nothing of.

    A part whose storage does not list coordinates is told to have all.

    Args:
        part: the part.
        axis: its axis.
        ends: where the operand's chunks begin along its own axis, and the extent.
    """
    wanted = stored_coordinates(part, axis)
    if wanted is None:
        return [slice(0, high - low) if low < high else None for low, high in pairwise(ends)]
    cuts = np.searchsorted(wanted, ends)
    return [
        places_of(wanted[start:stop] - ends[chunk]) if start < stop else None
        for chunk, (start, stop) in enumerate(pairwise(cuts))
    ]


def lengths(places: Sequence[Places | None]) -> list[int]:
    """Returns how many coordinates there are in each chunk."""
    return [0 if one is None else one.stop - one.start if isinstance(one, slice) else one.size for one in places]


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Entries of a chunk in a tensor of the chunk's shape.

    Args:
        low: where the chunk begins.
        chunk: the entries.
    """

    low: int
    chunk: SparseTensor


def taken(value: Any, places: Places | None, axis: int, low: int = 0) -> Any:
    """Returns the elements of an operand, or of a chunk of one, at some places; None where there are none.

    Args:
        value: an array, or a tensor.
        places: coordinates of the axis, counted from those of the chunk.
        axis: the axis.
        low: where the chunk begins.
    """
    if places is None:
        return None
    if not isinstance(value, SparseTensor):
        return _lines(np.asarray(value), places, axis)
    all_of_it = isinstance(places, slice) and (places.start, places.stop) == (0, value.shape[axis])
    if closes_up(value.encoding, axis) and isinstance(places, slice):
        run: SparseTensor = value if all_of_it else value[(slice(None),) * axis + (places,)]
        return run  # which shares entries with the chunk
    if all_of_it:
        return _Lines(low, value)
    wanted = np.arange(places.start, places.stop) if isinstance(places, slice) else places
    if closes_up(value.encoding, axis):
        return lines_closed_up(value, axis, wanted)
    return _Lines(low, entries_in_lines(value, axis, wanted))


def _lines(array: Array, places: Places, axis: int) -> Array:
    if isinstance(places, slice):
        return np.ascontiguousarray(array[(slice(None),) * axis + (places,)])
    shape = (*array.shape[:axis], places.size, *array.shape[axis + 1 :])
    # Of memory that results had before: the system gives new pages slower than they are filled.
    found: Array = _native.reserve(math.prod(shape), array.dtype).reshape(shape)
    return np.take(array, places, axis, out=found, mode="clip")  # another mode copies once more


@dataclass(frozen=True, slots=True, eq=False)
class OfferedLines:
    """Elements of an array at places, which are put together as they are sent to another process.

    A piece in the process of the array reads them where they lie.

    Args:
        array: the array.
        places: coordinates of the axis.
        axis: the axis.
    """

    array: Array
    places: Array
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the elements."""
        return (*self.array.shape[: self.axis], self.places.size, *self.array.shape[self.axis + 1 :])

    def __sizeof__(self) -> int:
        return math.prod(self.shape) * self.array.itemsize

    def __reduce__(self) -> Any:
        return np.asarray, (_lines(self.array, self.places, self.axis),)

    def write(self, out: Array, places: Array) -> None:
        """Writes the elements to others of an array.

        Args:
            out: the array, whose shape differs along the axis alone.
            places: coordinates of its axis.
        """
        axes: tuple[Any, ...] = (slice(None),) * self.axis
        line = self.array.nbytes // max(1, self.array.shape[self.axis])
        step = max(1, _COPIED // max(1, line))
        for at in range(0, places.size, step):
            out[(*axes, places[at : at + step])] = self.array[(*axes, self.places[at : at + step])]


def offered(value: Any, places: Places | None, axis: int, low: int = 0) -> Any:
    """Returns what `taken` does, of which elements of an array are copied only where they are read, or sent.

    They must not change until then, as those of a chunk do not.

    Args:
        value: an array, or a tensor.
        places: coordinates of the axis, counted from those of the chunk.
        axis: the axis.
        low: where the chunk begins.
    """
    if isinstance(places, np.ndarray) and not isinstance(value, SparseTensor):
        return OfferedLines(np.asarray(value), places, axis)
    return taken(value, places, axis, low)


@dataclass(frozen=True, slots=True, eq=False)
class ExpandedOperand:
    """How an operand of its whole shape is made of what was sent of it, without values elsewhere.

    Args:
        part_axis: the axis of the part that names the elements.
        axis: that of the operand.
        shape: the shape of the operand.
        kind: its type.
    """

    part_axis: int
    axis: int
    shape: tuple[int, ...]
    kind: TensorType

    def __call__(self, part: SparseTensor, sent: Sequence[Any]) -> Any:
        """Returns the operand.

        Args:
            part: the part whose image was sent.
            sent: the results of `taken` or `offered` on chunks, in order.
        """
        own = [one for one in sent if one is not None]
        if self.kind.encoding is not None:
            return self._tensor(part, own)
        # Pages of what is never filled take no memory. What other pieces have left is read no more than zeros are.
        found = buffer_for(part, self.shape, self.kind.dtype.numpy)
        wanted, first = self._wanted(part), 0
        for one in own:
            own_places = wanted[first : first + one.shape[self.axis]]
            if isinstance(one, OfferedLines):
                one.write(found, own_places)
            else:
                found[(slice(None),) * self.axis + (places_of(own_places),)] = one
            first += one.shape[self.axis]
        return found

    def _tensor(self, part: SparseTensor, sent: Sequence[Any]) -> SparseTensor:
        encoding = self.kind.encoding
        assert encoding is not None  # of a tensor
        if not sent:
            return self._nothing(self.shape[self.axis])
        if isinstance(sent[0], _Lines):
            found = self._behind_one_another(sent)
        else:
            lines: Any = sent[0] if len(sent) == 1 else np.concatenate(sent, self.axis)
            found = lines_spread_out(lines, self.axis, self._wanted(part), self.shape[self.axis])
        return found if found.encoding == encoding else found.convert(encoding)

    def _behind_one_another(self, sent: Sequence[_Lines]) -> SparseTensor:
        chunks, reached = list[SparseTensor](), 0
        for one in sent:
            if one.low > reached:
                chunks.append(self._nothing(one.low - reached))
            chunks.append(one.chunk)
            reached = one.low + one.chunk.shape[self.axis]
        if reached < self.shape[self.axis]:
            chunks.append(self._nothing(self.shape[self.axis] - reached))
        joined: Any = chunks[0] if len(chunks) == 1 else np.concatenate(chunks, self.axis)
        assert isinstance(joined, SparseTensor)  # of tensors
        return joined

    def _nothing(self, extent: int) -> SparseTensor:
        shape = (*self.shape[: self.axis], extent, *self.shape[self.axis + 1 :])
        nothing = np.zeros((len(shape), 0), np.int64), np.zeros(0, self.kind.dtype.numpy)
        return tensor(nothing, self.kind.encoding, shape=shape)

    def _wanted(self, part: SparseTensor) -> Array:
        found = stored_coordinates(part, self.part_axis)
        return np.arange(self.shape[self.axis]) if found is None else found
