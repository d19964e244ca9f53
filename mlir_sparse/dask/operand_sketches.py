"""Sketches of operands on Dask, by which statements are planned before their pieces run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.dask.array_chunks import Place, chunk_sources, chunks_at_hand, nbytes_of
from mlir_sparse.dask.part_facts import asked_of_parts
from mlir_sparse.encoding import AxisSketch, Sketch, uniform_sketch
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.sketch_of import sketch_of

__all__ = ["sketch_of_operand"]


def sketch_of_operand(value: Any) -> Sketch | None:
    """Returns the sketch of an operand; None of chunks that are not there yet.

    Of chunks at hand and persisted ones it is that of all together; of those that sources read one by their bytes.

    >>> from mlir_sparse.dask.partitioned import from_tensor
    >>> sketch_of_operand(from_tensor(np.eye(6), pieces=3)).axes[0]
    AxisSketch(distinct=6.0, largest=1.0, squares=6.0)
    """
    if not isinstance(value, dask.array.Array):
        return sketch_of(value)
    shape = tuple(map(int, value.shape))
    if not isinstance(value._meta, SparseTensor):
        return Sketch(shape, float(math.prod(shape)))
    if chunk_sources(value):
        return uniform_sketch(shape, nbytes_of(value) / (value.dtype.itemsize + 4))  # a coordinate an entry
    chunks = chunks_at_hand(value)
    sketches = {place: sketch_of(chunk) for place, chunk in chunks.items()} or asked_of_parts(value, sketch_of)
    if not sketches:
        return None
    entries = sum(one.entries for one in sketches.values())
    return Sketch(shape, entries, tuple(_joined(sketches, axis, extent) for axis, extent in enumerate(shape)))


def _joined(sketches: dict[Place, Sketch], axis: int, extent: int) -> AxisSketch:
    """Returns the degrees along an axis: chunks side by side share its coordinates, as if they filled them alike."""
    of_range: dict[int, list[AxisSketch]] = {}
    for place, sketch in sketches.items():
        of_range.setdefault(place[axis], []).append(sketch.axes[axis])
    lanes = [_side_by_side(own, extent) for own in of_range.values()]
    largest = max((lane.largest for lane in lanes), default=0.0)
    return AxisSketch(sum(lane.distinct for lane in lanes), largest, sum(lane.squares for lane in lanes))


def _side_by_side(own: Sequence[AxisSketch], extent: int) -> AxisSketch:
    if len(own) == 1:
        return own[0]
    missing = float(np.prod([1 - one.distinct / max(1, extent) for one in own]))
    largest = sum(one.largest for one in own)
    return AxisSketch(extent * (1 - missing), largest, sum(math.sqrt(one.squares) for one in own) ** 2)
