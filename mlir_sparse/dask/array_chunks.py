"""The chunks of a dask.array as its graph has them: tensors at hand, what reads them, or futures of persisted ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.files.tensor_source import TensorSource, read_part

__all__ = [
    "Place",
    "chunk_bytes",
    "chunk_futures",
    "chunk_sources",
    "chunks_at_hand",
    "joined_here",
    "nbytes_of",
    "type_of_chunks",
]

Place = tuple[int, ...]  # of a chunk: its number along each dimension


def type_of_chunks(value: Any) -> TensorType:
    """Returns the type of an operand; of a dask.array that of its chunks, or of its meta where none is at hand."""
    own = value
    if isinstance(value, dask.array.Array):  # Dask slices a meta, which then has widths of its own
        own = next(iter(chunks_at_hand(value).values()), value._meta)
    if isinstance(own, SparseTensor):
        return own.type
    return TensorType(DType.of(value.dtype), (None,) * value.ndim)


def chunks_at_hand(array: Any) -> dict[Place, SparseTensor]:
    """Returns the tensors that are the chunks of an array by their places; none where one is not at hand."""
    return _chunks_of(array, SparseTensor)


def chunk_futures(array: Any) -> dict[Place, Any]:
    """Returns the futures of an array's chunks by their places, in order; none where it was not persisted."""
    distributed = sys.modules.get("distributed")
    return {} if distributed is None else _chunks_of(array, distributed.Future)


def chunk_sources(array: Any) -> dict[Place, tuple[TensorSource, int, int]]:
    """Returns what reads the chunks of an array, with the range of each; none where another task makes one."""
    found = {}
    for place, task in _tasks_of_tensors(array):
        match task:
            case (function, source, int(low), int(high)) if function is read_part:
                found[place] = (source, low, high)
            case _:
                return {}
    return found


def _chunks_of(array: Any, kind: type) -> dict[Place, Any]:
    tasks = dict(_tasks_of_tensors(array))
    return tasks if all(isinstance(task, kind) for task in tasks.values()) else {}


def _tasks_of_tensors(array: Any) -> Iterator[tuple[Place, Any]]:
    if not isinstance(array, dask.array.Array) or not isinstance(array._meta, SparseTensor):
        return
    layer = array.dask.layers.get(array.name)
    tasks = getattr(layer, "mapping", layer)
    if isinstance(tasks, Mapping) and all(isinstance(key, tuple) and len(key) == array.ndim + 1 for key in tasks):
        for key in sorted(tasks, key=lambda key: key[1:]):
            yield key[1:], tasks[key]


def chunk_bytes(array: Any) -> list[int] | None:
    """Returns the bytes of an array's chunks, the last dimension's number counting fastest; None if not known yet."""
    if not isinstance(array._meta, SparseTensor):
        cells = np.array([1.0])
        for own in array.chunks:
            cells = np.multiply.outer(cells, np.array(own, float)).reshape(-1)
        return [int(count) * array.dtype.itemsize for count in cells]
    at_hand = chunks_at_hand(array)
    if at_hand:
        return [chunk.nbytes for chunk in at_hand.values()]
    sources = chunk_sources(array)
    return [source.nbytes_between(low, high) for source, low, high in sources.values()] or None


def nbytes_of(value: Any) -> int:
    """Returns the bytes of an operand; of a dask.array of tensors that are not there yet an estimate."""
    if isinstance(value, dask.array.Array) and isinstance(value._meta, SparseTensor):
        known = chunk_bytes(value)
        return int(value.size * value.dtype.itemsize // 16) if known is None else sum(known)
    return int(value.nbytes)


def joined_here(chunks: Sequence[np.ndarray[Any, Any]], axis: int) -> np.ndarray[Any, Any]:
    """Returns chunks joined along an axis, once for all pieces that a process computes with them; it is read-only."""

    def made() -> np.ndarray[Any, Any]:
        found = np.concatenate(chunks, axis)
        found.flags.writeable = False
        return found

    return kept_while(tuple(chunks), ("joined", axis), made)
