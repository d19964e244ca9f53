"""Tensors as `dask.array`s, cut along one dimension or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from operator import index
from typing import Any

import dask.array
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from mlir_sparse.dask.checked_array import CheckedArray, Pieces, annotate, pieces_of
from mlir_sparse.dask.task_names import before_dash
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.files.open_source import source
from mlir_sparse.tensor.files.tensor_source import TensorSource, read_part

__all__ = ["array_of_chunks", "from_files", "from_source", "from_tensor", "meta_of", "without_chunks"]


_SEARCHED = 2000
"""To find bounds of more chunks by the entries before them would take seconds."""


def from_tensor(whole: Any, /, *, pieces: int | Sequence[int] = 8, along: int | None = None) -> dask.array.Array:
    """Returns a tensor as a dask.array, cut so that each chunk has about as many entries.

    The chunks are nodes of the graph: what a worker loses is sent again. Chunks along the dimension of the outermost
    level share the memory of the tensor in this process.

    Args:
        whole: a SparseTensor, or anything that `tensor` takes.
        pieces: the number of chunks, fewer where there are fewer rows, or blocks of them; or one for each dimension.
        along: the dimension that is cut, with one number; that of the outermost level by default.

    Raises:
        OperandError: for numbers of pieces below one, of other dimensions than the tensor has, and with `along`.

    >>> A = from_tensor(np.eye(6), pieces=3)
    >>> A.chunks, type(A.blocks[0].compute()).__name__
    (((2, 2, 2), (6,)), 'SparseTensor')
    >>> from_tensor(np.eye(6), pieces=(2, 3)).chunks
    ((3, 3), (2, 2, 2))
    """
    given = whole if isinstance(whole, SparseTensor) else tensor_with_zeros(whole, "chunks on Dask")
    cut = _cut_dimensions(given, pieces, along)
    name = f"tensor-{tokenize(given, cut)}"
    tasks = {}
    for numbers in product(*(range(len(ends) - 1) for ends in cut.values())):
        places, at = [slice(None)] * given.ndim, [0] * given.ndim
        for (dim, ends), number in zip(cut.items(), numbers, strict=True):
            places[dim], at[dim] = slice(ends[number], ends[number + 1]), number
        tasks[(name, *at)] = given[tuple(places)]
    return array_of_chunks(name, tasks, [], given.shape, given.type, list(cut), list(cut.values()))


def _cut_dimensions(given: SparseTensor, pieces: int | Sequence[int], along: int | None) -> dict[int, list[int]]:
    """Returns where chunks begin along each dimension that is cut, and the extent."""
    counts: list[Any] = list(pieces) if isinstance(pieces, Sequence) else [pieces]
    if not counts or any(isinstance(count, bool) or not isinstance(count, int) or count < 1 for count in counts):
        raise OperandError(f"expected one piece or more, but got pieces={pieces!r}")
    if isinstance(pieces, int):
        if along is not None and not (isinstance(along, int) and 0 <= along < given.ndim):
            raise OperandError(f"expected along= a dimension from 0 to {given.ndim - 1}, but got {along!r}")
        parts = source(given, along=along)
        return {parts.axis: parts.balanced(pieces)}
    if len(counts) != given.ndim or along is not None:
        raise OperandError(
            f"expected a number of pieces for each of {given.ndim} dimensions, without along=, but got "
            f"pieces={pieces!r} and along={along}"
        )
    return {dim: _balanced(given, dim, count) for dim, count in enumerate(counts) if count > 1} or {
        0: [0, given.shape[0]]
    }


def _balanced(given: SparseTensor, dim: int, count: int) -> list[int]:
    """Returns where so many parts with about as many entries begin along any dimension, and the extent."""
    extent, unit = given.shape[dim], given.encoding.block_of(dim)
    coordinates = np.asarray(given.to_coo()[0][dim])
    before = np.cumsum(np.bincount(coordinates // unit, minlength=-(-extent // unit)))
    wanted = before[-1] * np.arange(1, count) / count if len(before) else np.zeros(0)
    found = np.minimum((np.searchsorted(before, wanted) + 1) * unit, extent)
    return sorted({0, extent, *found.tolist()}) if extent else [0, 0]


def from_files(files: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], /, **options: Any) -> dask.array.Array:
    """Returns tensors in files that follow one another along a dimension as a dask.array; a task reads each.

    Args:
        files: the files in order, or a folder; see `mlir_sparse.source`.
        options: of `from_source`.
    """
    return from_source(source(files), **options)


def from_source(
    given: TensorSource | Callable[[int, int], Any],
    /,
    *,
    shape: Sequence[int] | None = None,
    type: str | TensorType | None = None,
    nbytes: int | None = None,
    along: int | None = None,
    chunk_bytes: int = 64 << 20,
    cuts: Sequence[int] | None = None,
) -> dask.array.Array:
    """Returns a tensor that is read in parts as a dask.array; a task reads each chunk, and reads it again when lost.

    Args:
        given: a source, or a function of two coordinates that returns the part between them.
        shape: as for `mlir_sparse.source`; for a function only, like the next two.
        type: likewise.
        nbytes: likewise.
        along: the dimension of the parts.
        chunk_bytes: about how many bytes a chunk has.
        cuts: where chunks begin, and the extent, in place of `chunk_bytes`.

    Raises:
        TooLargeError: for one coordinate that exceeds a chunk.

    >>> A = from_source(lambda low, high: np.eye(6)[low:high], shape=(6, 6), type="f64[?,?] CSR", cuts=[0, 2, 6])
    >>> A.chunks
    ((2, 4), (6,))
    """
    size = nbytes if nbytes is not None or isinstance(given, TensorSource) or cuts is None else 0
    parts = source(given, along=along, shape=shape, type=type, nbytes=size)
    bounds = _bounds(parts, chunk_bytes) if cuts is None else _integers(cuts)
    extent = parts.shape[parts.axis]
    if not bounds or bounds[0] != 0 or bounds[-1] != extent or any(low > high for low, high in pairwise(bounds)):
        raise OperandError(f"expected cuts that ascend from 0 to {extent}, but got {bounds}")
    label = f"read {parts!r}"
    name = f"{before_dash(label)}-{tokenize(parts, bounds)}"
    tasks = {
        _key(name, number, len(parts.shape), parts.axis): (read_part, parts, low, high)
        for number, (low, high) in enumerate(pairwise(bounds))
    }
    sizes = [parts.nbytes_between(low, high) for low, high in pairwise(bounds)]
    pieces = pieces_of(label, [bounds], [parts.axis], [sizes])
    return array_of_chunks(name, tasks, [], parts.shape, parts.type, [parts.axis], [bounds], pieces)


def _integers(cuts: Sequence[int]) -> list[int]:
    try:
        return [index(cut) for cut in cuts]
    except TypeError:
        raise OperandError(f"expected integers for cuts=, but got {cuts!r}") from None


def _bounds(parts: TensorSource, limit: int) -> list[int]:
    """Returns bounds of chunks of about as many bytes each, so that none takes much longer than others."""
    extent = parts.shape[parts.axis]
    count = max(1, -(-parts.nbytes_between(0, extent) // max(1, limit)))
    if count > _SEARCHED:
        return parts.bounds(limit)
    found = parts.balanced(count)
    fits = all(parts.nbytes_between(low, high) <= limit * 5 // 4 for low, high in pairwise(found))
    return found if fits else parts.bounds(limit)


def _key(name: str, number: int, rank: int, axis: int) -> tuple[str | int, ...]:
    return (name, *(number if dim == axis else 0 for dim in range(rank)))


def meta_of(kind: TensorType) -> Any:
    """Returns the empty array or tensor by which Dask knows what chunks are."""
    empty = np.zeros((0,) * len(kind.shape), kind.dtype.numpy)
    return empty if kind.encoding is None else tensor(empty, kind.encoding)


def array_of_chunks(
    name: str,
    tasks: dict[Any, Any],
    dependencies: Sequence[Any],
    shape: Sequence[int],
    kind: TensorType,
    axes: Sequence[int | None],
    bounds: Sequence[Sequence[int]],
    pieces: Pieces | None = None,
) -> CheckedArray:
    """Returns the dask.array of tasks that give its chunks.

    Args:
        name: the first part of their keys, which a number for each dimension follows.
        tasks: the tasks.
        dependencies: the collections that they read.
        shape: the extents.
        kind: the type of a chunk.
        axes: the dimensions along which chunks follow one another; None for bounds of what is no dimension of it.
        bounds: where chunks begin along each, and the extent.
        pieces: what tasks take.
    """
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=list(dependencies))
    own = {axis: tuple(high - low for low, high in pairwise(ends)) for axis, ends in zip(axes, bounds, strict=True)}
    chunks = tuple(own.get(dim, (extent,)) for dim, extent in enumerate(shape))
    made = CheckedArray(graph, name, chunks, meta=meta_of(kind), shape=tuple(shape))
    if pieces is not None:
        annotate(made, pieces)
    return made


def without_chunks(array: Any) -> dask.array.Array:
    """Returns what the tasks of an array's chunks read, for graphs that have these tasks elsewhere.

    Dask runs tasks that no result needs where a layer has as many as are asked for of others.
    """
    layers, needed = dict(array.dask.layers), dict(array.dask.dependencies)
    tasks, own = layers.pop(array.name), needed.pop(array.name)
    name = f"{array.name}-within"
    layers[name] = {key: task for key, task in tasks.items() if not (isinstance(key, tuple) and key[0] == array.name)}
    return dask.array.Array(HighLevelGraph(layers, {**needed, name: own}), name, array.chunks, meta=array._meta)
