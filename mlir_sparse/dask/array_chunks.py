"""The chunks of a dask.array as its graph has them: tensors at hand, what reads them, or futures of persisted ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask.array
import numpy as np

from mlir_sparse import _native
from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import OperandError
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
    "rechunked",
    "tasks_of",
    "type_of_chunks",
    "with_type",
]

Place = tuple[int, ...]  # of a chunk: its number along each dimension


def type_of_chunks(value: Any) -> TensorType:
    """Returns the type of an operand; of a dask.array that of its chunks, or of its meta where none is at hand."""
    own = value
    if isinstance(value, dask.array.Array):  # Dask slices a meta, which then has widths of its own
        at_hand = chunks_at_hand(value)
        own = next(iter(at_hand.values()), value._meta)
        if at_hand:
            return _widest(own.type, at_hand.values())
    if isinstance(own, SparseTensor):
        return own.type
    return TensorType(DType.of(value.dtype), (None,) * value.ndim)


def _widest(kind: TensorType, chunks: Iterable[SparseTensor]) -> TensorType:
    """Returns the type of the first of some chunks, in widths that are enough for all."""
    assert kind.encoding is not None  # of a tensor
    encodings = {chunk.encoding for chunk in chunks}
    if len(encodings) == 1:
        return kind
    widths = [max((one.pos_width or 64, one.crd_width or 64)[at] for one in encodings) for at in range(2)]
    return replace(kind, encoding=kind.encoding.with_widths(*widths))


def with_type(part: Any, encoding: Encoding | None, name: str) -> Any:
    """Returns a chunk as its kernel reads it: in other widths where its own differ.

    Args:
        part: the chunk.
        encoding: what the kernel reads; None for an array.
        name: the operand, for messages.

    Raises:
        OperandError: for a chunk in other storage.
    """
    if not isinstance(part, SparseTensor) or encoding is None or part.encoding == encoding:
        return part
    if part.encoding.with_widths(0, 0) == encoding.with_widths(0, 0):
        return part.convert(encoding)
    raise OperandError(
        f"expected chunks of {name} that are stored alike, but got {part.encoding.map_text()} beside "
        f"{encoding.map_text()}: give {name}.map_blocks(lambda part: part.convert({encoding.map_text()!r}))"
    )


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


def tasks_of(array: Any) -> Mapping[Any, Any]:
    """Returns the tasks of an array's own layer by their keys; none where Dask has not written them out."""
    layer = array.dask.layers.get(array.name)
    tasks = getattr(layer, "mapping", layer)
    return tasks if isinstance(tasks, Mapping) else {}


def _tasks_of_tensors(array: Any) -> Iterator[tuple[Place, Any]]:
    if not isinstance(array, dask.array.Array) or not isinstance(array._meta, SparseTensor):
        return
    tasks = tasks_of(array)
    if tasks and all(isinstance(key, tuple) and len(key) == array.ndim + 1 for key in tasks):
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


def rechunked(array: Any, chunks: Any) -> Any:
    """Returns an array in other chunks; tensors move by tasks, as workers exchange only arrays of NumPy themselves."""
    method = None if isinstance(array._meta, np.ndarray) else "tasks"
    return array.rechunk(chunks, method=method)


def joined_here(chunks: Sequence[np.ndarray[Any, Any]], axis: int) -> np.ndarray[Any, Any]:
    """Returns chunks joined along an axis, once for all pieces that a process computes with them; it is read-only."""

    def made() -> np.ndarray[Any, Any]:
        shape = list(chunks[0].shape)
        shape[axis] = sum(chunk.shape[axis] for chunk in chunks)
        # Of memory that other results had before: the system gives new pages slower than they are filled.
        dtype = np.result_type(*{chunk.dtype for chunk in chunks})
        found: np.ndarray[Any, Any] = _native.reserve(math.prod(shape), dtype).reshape(shape)
        np.concatenate(chunks, axis, out=found)
        found.flags.writeable = False
        return found

    return kept_while(tuple(chunks), ("joined", axis), made)
