"""Operands that are not cut, of which each piece is sent what its part names: the image of the part's coordinates.

In `y(i) = A(i,j) * x(j)` cut along i, a piece reads x where its rows of A store something. Where parts are at hand as
the graph is made, that is known; pieces that would read most of the operand get all of it, once for each worker.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import reads
from mlir_sparse.plan.statement_cuts import Image, StatementCut
from mlir_sparse.tensor import SparseTensor

__all__ = ["SentImage", "image_of", "images_sent"]

_WORTHWHILE = 0.5
"""The part of an operand that pieces read in the mean, above which they are sent all of it."""
_SPARSE = 16  # coordinates are sorted where the axis has so many times as many
_KEPT = 32

_known: OrderedDict[tuple[str, int], list[np.ndarray[Any, Any]] | None] = OrderedDict()
"""Coordinates that parts store, by the name of their array and the axis: loops ask for them again at each step."""


@dataclass(frozen=True, slots=True, eq=False)
class SentImage:
    """What pieces read of an operand.

    Args:
        image: the operand's axis, and the part that names the elements.
        coordinates: those of the axis that each piece reads, ascending.
    """

    image: Image
    coordinates: Sequence[np.ndarray[Any, Any]]

    def nbytes(self, value: Any) -> int:
        """Returns the bytes of the operand that all pieces are sent."""
        an_element = value.nbytes // max(1, value.shape[self.image.axis])
        return int(an_element * sum(len(one) for one in self.coordinates))

    def tasks(self, value: Any, name: str, part: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
        """Returns the tasks that send each piece its image, and for each piece how the operand is made of it.

        Args:
            value: the operand: an array, or a dask.array in chunks along the image's axis.
            name: begins the keys of the tasks.
            part: the keys of the parts.
        """
        axis, tasks, made = self.image.axis, dict[Any, Any](), list[Any]()
        for number, wanted in enumerate(self.coordinates):
            if isinstance(value, dask.array.Array):
                sent = _sends(value, f"{name}-send", number, wanted, axis, tasks)
            else:
                tasks[f"{name}-image", number] = _taken(value, _where(wanted), axis)
                sent = [(f"{name}-image", number)]
            made.append((_expanded, part[number], self.image.part_axis, value.shape, value.dtype, axis, sent))
        return tasks, made


def _sends(
    value: Any, name: str, number: int, wanted: np.ndarray[Any, Any], axis: int, tasks: dict[Any, Any]
) -> list[Any]:
    """Adds a task for each chunk that has a part of an image, which runs where the chunk is."""
    ends, keys = np.cumsum([0, *value.chunks[axis]]), list[Any]()
    cuts = np.searchsorted(wanted, ends)
    for chunk, (start, stop) in enumerate(pairwise(cuts)):
        if start < stop:
            source = (value.name, *(chunk if dim == axis else 0 for dim in range(value.ndim)))
            tasks[name, number, chunk] = (_taken, source, _where(wanted[start:stop] - ends[chunk]), axis)
            keys.append((name, number, chunk))
    return keys


def images_sent(cut: StatementCut, arrays: Mapping[str, Any]) -> dict[str, SentImage]:
    """Returns the operands of which pieces are sent images: arrays whose parts' coordinates are known.

    Args:
        cut: the cut.
        arrays: the operands by their names in the statement of a piece, those that are cut in chunks as pieces are.
    """
    found: dict[str, SentImage] = {}
    accesses = set(reads(cut.assignment.value))
    for name in cut.whole:
        value = arrays[name]
        is_array = isinstance(value._meta if isinstance(value, dask.array.Array) else value, np.ndarray)
        # Of several accesses each may read other elements.
        if not is_array or sum(access.tensor == name for access in accesses) != 1:
            continue
        own = [
            image
            for image in cut.images
            # Extents that disagree are the kernel's to refuse.
            if image.operand == name and value.shape[image.axis] == arrays[image.part].shape[image.part_axis]
        ]
        choices = [one for image in own if (one := _sent(image, arrays)) is not None]
        least = min(choices, key=lambda one: one.nbytes(value), default=None)
        if least is not None and least.nbytes(value) <= _WORTHWHILE * value.nbytes * len(least.coordinates):
            found[name] = least
    return found


def image_of(image: Image, parts: Sequence[SparseTensor]) -> SentImage | None:
    """Returns what parts at hand read of an operand; None where their storage does not list it."""
    read = [_stored(part, image.part_axis) for part in parts]
    own = [one for one in read if one is not None]
    return SentImage(image, own) if len(own) == len(read) else None


def _sent(image: Image, arrays: Mapping[str, Any]) -> SentImage | None:
    part = arrays[image.part]
    if not isinstance(part, dask.array.Array) or not isinstance(part._meta, SparseTensor):
        return None
    key = (part.name, image.part_axis)
    if key not in _known:
        layer = part.dask.layers.get(part.name)
        parts = list(getattr(layer, "mapping", layer or {}).values())
        read = [_stored(one, image.part_axis) if isinstance(one, SparseTensor) else None for one in parts]
        own = [one for one in read if one is not None]
        _known[key] = own if len(own) == len(read) else None
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    coordinates = _known[key]
    return None if coordinates is None else SentImage(image, coordinates)


def _stored(part: SparseTensor, axis: int) -> np.ndarray[Any, Any] | None:
    """Returns the coordinates of an axis that a part stores, ascending; None where it does not list them."""
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
    return np.flatnonzero(seen[:-1])


def _where(wanted: np.ndarray[Any, Any]) -> slice | np.ndarray[Any, Any]:
    """Returns coordinates as few bytes: those of grids follow one another."""
    if wanted.size and int(wanted[-1]) - int(wanted[0]) + 1 == wanted.size:
        return slice(int(wanted[0]), int(wanted[-1]) + 1)
    return wanted.astype(np.int32 if not wanted.size or int(wanted[-1]) < 1 << 31 else np.int64)


def _taken(value: Any, where: slice | np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(np.asarray(value)[(slice(None),) * axis + (where,)])


def _expanded(
    part: SparseTensor, part_axis: int, shape: Sequence[int], dtype: Any, axis: int, sent: Sequence[Any]
) -> np.ndarray[Any, Any]:
    """Returns an operand of its whole shape, in which only the image is filled: pages of the rest take no memory."""
    found = np.zeros(shape, dtype)
    if sent:
        wanted = _stored(part, part_axis)
        assert wanted is not None  # as where the graph was made
        where = _where(wanted)
        found[(slice(None),) * axis + (where,)] = sent[0] if len(sent) == 1 else np.concatenate(sent, axis)
    return found
