"""Operands that are not cut, of which each piece is sent what its part names: the image of the part's coordinates.

In `y(i) = A(i,j) * x(j)` cut along i, a piece reads x where its rows of A store something, and in
`C(i,k) = A(i,j) * B(j,k)` so many rows of B. Where parts are at hand as the graph is made, their images are known. Of
others a task tells where a part's image lies, and tasks send that from each chunk; what is known of parts before
(`part_facts`) says whether that is less. Pieces that would read most of the operand get all of it, once a worker.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import getitem
from typing import Any, Protocol

import dask.array
import numpy as np
from dask.base import tokenize

from mlir_sparse.classes import dataclass
from mlir_sparse.dask.array_chunks import chunks_at_hand, nbytes_of, type_of_chunks
from mlir_sparse.dask.image_values import (
    Array,
    ExpandedOperand,
    offered,
    places_in_chunks,
    places_of,
    stored_coordinates,
    taken,
)
from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.dask.part_facts import image_share, places_kept
from mlir_sparse.dask.task_names import IMAGE, PLACES, SEND, WHOLE, beside
from mlir_sparse.notation import reads
from mlir_sparse.plan.statement_cuts import Image, StatementCut
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.chosen_lines import entries_of_each_line

__all__ = ["TASK_NBYTES", "SentImage", "images_sent", "tasks_of_divisions"]

_WORTHWHILE = 0.6
"""The part of an operand that pieces read in the mean, above which they are sent all of it.

Of two pieces of a grid each reads half, and the lines beside it.
"""
_ALL = 0.99
"""The part of a chunk in an image, from which the chunk is sent as it is."""
TASK_NBYTES = 64 << 10
"""So many bytes are sent in the time that Dask takes for a task: 1 ms or more, at most 100 MB a second."""
_PAIRS = 4096
"""So many pairs of a part and a chunk have a task at most, where nobody knows which of them have something to send."""
_KEPT = 32

_known: OrderedDict[tuple[str, int], list[Array] | None] = OrderedDict()
"""Coordinates that parts store, by the name of their array and the axis: loops ask for them again at each step."""


class SentImage(Protocol):
    """What pieces read of an operand."""

    @property
    def image(self) -> Image:
        """Returns the operand's axis, and the part that names the elements."""

    def nbytes(self, value: Any) -> int:
        """Returns the bytes of the operand that all pieces are sent."""

    def count(self, value: Any) -> int:
        """Returns the number of tasks that send them."""

    def tasks(self, value: Any, name: str, parts: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        """Returns the tasks that send each piece its image, and for each piece how the operand is made of it.

        Args:
            value: the operand: an array or a tensor, or a dask.array in chunks along the image's axis.
            name: begins the keys of the tasks.
            parts: the keys of the parts.
        """


@dataclass(frozen=True, slots=True, eq=False)
class KnownImage:
    """The coordinates of the operand's axis that each piece reads, ascending."""

    image: Image
    coordinates: Sequence[Array]

    def nbytes(self, value: Any) -> int:
        counts = _entries_of_lines(value, self.image.axis)
        if counts is not None:
            entries = sum(int(counts[one].sum()) for one in self.coordinates)
            return int(nbytes_of(value) * entries // max(1, int(counts.sum())))
        named = sum(len(one) for one in self.coordinates)
        return int(nbytes_of(value) * named // max(1, value.shape[self.image.axis]))

    def count(self, value: Any) -> int:
        if not isinstance(value, dask.array.Array):
            return 0  # what is sent goes with the graph
        ends = _ends(value, self.image.axis)
        return sum(int(np.count_nonzero(np.diff(np.searchsorted(one, ends)))) for one in self.coordinates)

    def tasks(self, value: Any, name: str, parts: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        if isinstance(value, dask.array.Array):
            ends = _ends(value, self.image.axis)
            return _sending_tasks(self.image, value, name, parts, [_in_chunks(one, ends) for one in self.coordinates])
        tasks, expanded = dict[Any, Any](), _expanded(self.image, value)
        for number, wanted in enumerate(self.coordinates):
            tasks[beside(name, IMAGE), number] = taken(value, places_of(wanted), self.image.axis)
        return tasks, [(expanded, part, [(beside(name, IMAGE), number)]) for number, part in enumerate(parts)]


@dataclass(frozen=True, slots=True, eq=False)
class AskedImage:
    """Images that tasks find in parts which are not at hand.

    Args:
        image: the operand's axis, and the part that names the elements.
        part: the array whose chunks are the parts.
        share: how much of the operand pieces read in the mean, at most.
    """

    image: Image
    part: Any
    share: float

    def nbytes(self, value: Any) -> int:
        return int(self.share * nbytes_of(value) * self.part.npartitions)

    def count(self, value: Any) -> int:
        ends = _ends(value, self.image.axis)
        kept = places_kept(self.part, self.image.part_axis, ends)
        return self.part.npartitions * (2 * len(ends) - 1) if kept is None else sum(map(len, kept))

    def tasks(self, value: Any, name: str, parts: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        ends = _ends(value, self.image.axis)
        kept = places_kept(self.part, self.image.part_axis, ends)
        if kept is not None:
            return _sending_tasks(self.image, value, name, parts, kept)
        # By the name of the parts: the same in each step of a loop.
        label = f"{PLACES}-{tokenize(self.part.name, self.image.part_axis, ends)}"
        return _asking_tasks(self.image, value, name, parts, label)


def _in_chunks(wanted: Array, ends: Sequence[int]) -> dict[int, tuple[Any, int]]:
    """Returns where coordinates lie in the chunks that have some, and how many of them."""
    cuts = np.searchsorted(wanted, ends)
    return {
        chunk: (places_of(wanted[start:stop] - ends[chunk]), int(stop - start))
        for chunk, (start, stop) in enumerate(pairwise(cuts))
        if start < stop
    }


def _asking_tasks(
    image: Image, value: Any, name: str, parts: Sequence[Any], label: str
) -> tuple[dict[Any, Any], list[Any]]:
    """Returns what `SentImage.tasks` does, and the tasks that find images; `label` begins the keys of those."""
    ends, tasks, places = _ends(value, image.axis), dict[Any, Any](), list[dict[int, tuple[Any, int]]]()
    for number, part in enumerate(parts):
        tasks[beside(label, "all"), number] = (places_in_chunks, part, image.part_axis, ends)
        places.append({chunk: ((label, number, chunk), 0) for chunk in range(len(ends) - 1)})
        tasks |= {key: (getitem, (beside(label, "all"), number), chunk) for chunk, (key, _) in places[-1].items()}
    more, made = _sending_tasks(image, value, name, parts, places)
    return tasks | more, made


def _sending_tasks(
    image: Image, value: Any, name: str, parts: Sequence[Any], places: Sequence[Mapping[int, tuple[Any, int]]]
) -> tuple[dict[Any, Any], list[Any]]:
    """Returns what `SentImage.tasks` does, of an operand in chunks.

    Args:
        image: the image.
        value: the operand.
        name: begins the keys of tasks.
        parts: the keys of the parts.
        places: for each part by the number of a chunk where its image lies in that (the places, or what gives them),
            and how many coordinates it has there at least.
    """
    axis, tasks, made, ends = image.axis, dict[Any, Any](), list[Any](), _ends(value, image.axis)
    if not isinstance(value, dask.array.Array):
        tasks[beside(name, WHOLE)] = value
    for number, (part, own) in enumerate(zip(parts, places, strict=True)):
        sent: list[Any] = []
        for chunk, (where, count) in own.items():
            source = _chunk_key(value, axis, chunk) if isinstance(value, dask.array.Array) else beside(name, WHOLE)
            taking = (offered, source, where, axis, ends[chunk])
            if count >= _ALL * (ends[chunk + 1] - ends[chunk]):
                sent.append(taking)  # of a chunk that is sent as it is, or lies where the piece is computed
                continue
            # A task of its own runs where the chunk is.
            tasks[beside(name, SEND), number, chunk] = taking
            sent.append((beside(name, SEND), number, chunk))
        made.append((_expanded(image, value), part, sent))
    return tasks, made


def images_sent(cut: StatementCut, arrays: Mapping[str, Any]) -> dict[str, SentImage]:
    """Returns the operands of which pieces are sent images, where that is much less than all of them.

    Args:
        cut: the cut.
        arrays: the operands by their names in the statement of a piece, those that are cut in chunks as pieces are.
    """
    found: dict[str, SentImage] = {}
    accesses = set(reads(cut.assignment.value))
    for name in cut.whole:
        value = arrays[name]
        # Of several accesses each may read other elements.
        if not value.ndim or sum(access.tensor == name for access in accesses) != 1:
            continue
        own = [
            image
            for image in cut.images
            # Extents that disagree are the kernel's to refuse.
            if image.operand == name and value.shape[image.axis] == arrays[image.part].shape[image.part_axis]
        ]
        choices = [one for image in own for one in _found(image, arrays)]
        least = min(choices, key=lambda one: one.nbytes(value), default=None)
        if least is not None:
            parts = arrays[least.image.part].npartitions
            if least.nbytes(value) + TASK_NBYTES * least.count(value) <= _WORTHWHILE * nbytes_of(value) * parts:
                found[name] = least
    return found


def tasks_of_divisions(
    image: Image, value: Any, name: str, divisions: Sequence[Any], parts: Sequence[Any]
) -> tuple[dict[Any, Any], list[Any]] | None:
    """Returns what `SentImage.tasks` does, for the divisions of a part.

    Args:
        image: the image of the part.
        value: the operand.
        name: begins the keys of the tasks.
        divisions: tensors, or futures of them.
        parts: their keys.

    Returns:
        None where storage does not list what divisions read.
    """
    if not all(isinstance(one, SparseTensor) for one in divisions):
        return _asking_tasks(image, value, name, parts, beside(name, PLACES))
    read = [stored_coordinates(one, image.part_axis) for one in divisions]
    own = [one for one in read if one is not None]
    return KnownImage(image, own).tasks(value, name, parts) if len(own) == len(read) else None


def _found(image: Image, arrays: Mapping[str, Any]) -> Iterator[SentImage]:
    part, value = arrays[image.part], arrays[image.operand]
    if not isinstance(part, dask.array.Array) or not isinstance(part._meta, SparseTensor):
        return
    key = (part.name, image.part_axis)
    at_hand = chunks_at_hand(part) if key not in _known else {}
    if at_hand:
        read = [stored_coordinates(one, image.part_axis) for one in at_hand.values()]
        own = [one for one in read if one is not None]
        _known[key] = own if len(own) == len(read) else None
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    if key in _known:
        coordinates = _known[key]
        if coordinates is not None:
            yield KnownImage(image, coordinates)
        return
    ends = _ends(value, image.axis)
    if part.npartitions * (len(ends) - 1) <= _PAIRS:
        share = image_share(part, image.part_axis, ends)
        if share is not None:
            yield AskedImage(image, part, share)


def _ends(value: Any, axis: int) -> list[int]:
    """Returns where an operand's chunks begin along an axis, and the extent."""
    own = value.chunks[axis] if isinstance(value, dask.array.Array) else (value.shape[axis],)
    found: list[int] = np.cumsum([0, *own]).tolist()
    return found


def _chunk_key(value: Any, axis: int, chunk: int) -> tuple[Any, ...]:
    return (value.name, *(chunk if dim == axis else 0 for dim in range(value.ndim)))


def _expanded(image: Image, value: Any) -> ExpandedOperand:
    return ExpandedOperand(image.part_axis, image.axis, tuple(value.shape), type_of_chunks(value))


def _entries_of_lines(value: Any, axis: int) -> Array | None:
    """Returns how many entries each line of an operand at hand has; None of others, and of arrays."""
    if isinstance(value, SparseTensor):
        return kept_while((value,), ("entries", axis), lambda: entries_of_each_line(value, axis))
    chunks = chunks_at_hand(value)
    if not chunks:
        return None
    found = np.zeros(value.shape[axis], np.int64)
    starts = np.cumsum([0, *value.chunks[axis]])
    for place, chunk in chunks.items():
        own = _entries_of_lines(chunk, axis)
        assert own is not None  # of a tensor
        found[starts[place[axis]] : starts[place[axis] + 1]] += own
    return found
