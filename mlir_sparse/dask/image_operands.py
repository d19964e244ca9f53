"""Operands that are not cut, of which each piece is sent what its part names: the image of the part's coordinates.

In `y(i) = A(i,j) * x(j)` cut along i, a piece reads x where its rows of A store something, and in
`C(i,k) = A(i,j) * B(j,k)` so many rows of B. Where parts are at hand as the graph is made, their images are known. Of
others a task tells where a part's image lies, and tasks send that from each chunk; what is known of parts before
(`part_facts`) says whether that is less. Pieces that would read most of the operand get all of it, once a worker.
"""

from __future__ import annotations

import weakref
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
    places_in_chunks,
    places_of,
    stored_coordinates,
    taken,
)
from mlir_sparse.dask.part_facts import image_share, places_kept
from mlir_sparse.notation import reads
from mlir_sparse.plan.statement_cuts import Image, StatementCut
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.chosen_lines import entries_of_each_line

__all__ = ["SentImage", "images_sent", "tasks_of_divisions"]

_WORTHWHILE = 0.5
"""The part of an operand that pieces read in the mean, above which they are sent all of it."""
_PAIRS = 4096
"""So many pairs of a part and a chunk have a task at most, where nobody knows which of them have something to send."""
_KEPT = 32

_known: OrderedDict[tuple[str, int], list[Array] | None] = OrderedDict()
"""Coordinates that parts store, by the name of their array and the axis: loops ask for them again at each step."""
_counted: dict[tuple[int, int], Array] = {}
"""Entries of each line of a tensor, by its identity and the axis, while it lives."""


class SentImage(Protocol):
    """What pieces read of an operand."""

    @property
    def image(self) -> Image:
        """Returns the operand's axis, and the part that names the elements."""

    def nbytes(self, value: Any) -> int:
        """Returns the bytes of the operand that all pieces are sent."""

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

    def tasks(self, value: Any, name: str, parts: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        axis, tasks, made = self.image.axis, dict[Any, Any](), list[Any]()
        expanded = _expanded(self.image, value)
        for number, wanted in enumerate(self.coordinates):
            if isinstance(value, dask.array.Array):
                sent = self._sends(value, f"{name}-send", number, wanted, tasks)
            else:
                tasks[f"{name}-image", number] = taken(value, places_of(wanted), axis)
                sent = [(f"{name}-image", number)]
            made.append((expanded, parts[number], sent))
        return tasks, made

    def _sends(self, value: Any, name: str, number: int, wanted: Array, tasks: dict[Any, Any]) -> list[Any]:
        """Adds a task for each chunk that has a part of an image, which runs where the chunk is."""
        axis, keys = self.image.axis, list[Any]()
        ends = np.cumsum([0, *value.chunks[axis]]).tolist()
        cuts = np.searchsorted(wanted, ends)
        for chunk, (start, stop) in enumerate(pairwise(cuts)):
            if start < stop:
                places = places_of(wanted[start:stop] - ends[chunk])
                tasks[name, number, chunk] = (taken, _chunk_key(value, axis, chunk), places, axis, ends[chunk])
                keys.append((name, number, chunk))
        return keys


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

    def tasks(self, value: Any, name: str, parts: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        ends = _ends(value, self.image.axis)
        kept = places_kept(self.part, self.image.part_axis, ends)
        # By the name of the parts: the same in each step of a loop.
        label = f"places-{tokenize(self.part.name, self.image.part_axis, ends)}"
        return _asked_tasks(self.image, value, name, parts, label, kept)


def _asked_tasks(
    image: Image,
    value: Any,
    name: str,
    parts: Sequence[Any],
    label: str,
    places: Sequence[Mapping[int, Any]] | None = None,
) -> tuple[dict[Any, Any], list[Any]]:
    """Returns what `SentImage.tasks` does, for parts whose images tasks find.

    Args:
        image: the image.
        value: the operand.
        name: begins the keys of tasks that send.
        parts: the keys of the parts, or their futures.
        label: begins the keys of tasks that find images.
        places: where images lie, for each part by the chunks that have some of it, where that is known.
    """
    axis, tasks, made, ends = image.axis, dict[Any, Any](), list[Any](), _ends(value, image.axis)
    if places is None:
        places = [{chunk: (label, n, chunk) for chunk in range(len(ends) - 1)} for n in range(len(parts))]
        for number, part in enumerate(parts):
            tasks[f"{label}-all", number] = (places_in_chunks, part, image.part_axis, ends)
            tasks |= {key: (getitem, (f"{label}-all", number), chunk) for chunk, key in places[number].items()}
    if not isinstance(value, dask.array.Array):
        tasks[f"{name}-whole"] = value
    for number, (part, own) in enumerate(zip(parts, places, strict=True)):
        sent = []
        for chunk, where in own.items():
            source = _chunk_key(value, axis, chunk) if isinstance(value, dask.array.Array) else f"{name}-whole"
            key = (f"{name}-send", number, chunk)
            tasks[key] = (taken, source, where, axis, ends[chunk])
            sent.append(key)
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
            if least.nbytes(value) <= _WORTHWHILE * nbytes_of(value) * parts:
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
        return _asked_tasks(image, value, name, parts, f"{name}-places")
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
        key = (id(value), axis)
        if key not in _counted:
            weakref.finalize(value, _counted.pop, key, None)
            _counted[key] = entries_of_each_line(value, axis)
        return _counted[key]
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
