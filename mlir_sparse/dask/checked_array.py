"""`dask.array`s whose computation is refused before it starts where it cannot fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dask.array_chunks import chunk_bytes
from mlir_sparse.dask.task_names import pieces_beside
from mlir_sparse.errors import DistributedError, TooLargeError, UnsupportedError
from mlir_sparse.process.available_memory import check_fits, in_units
from mlir_sparse.tensor import SparseTensor

__all__ = ["CheckedArray", "Pieces", "annotate", "pieces_of"]

_SHARE = 0.6
"""Of a worker's limit: Dask spills from here on, and ends the worker at 0.95; its interpreter takes the rest."""
_PAUSED = 0.75
"""Of a worker's limit: at 0.8 Dask begins no further task in it."""
_LOCAL = ("threads", "threading", "synchronous", "sync", "single-threaded", "processes", "multiprocessing")

_ANNOTATION = "pieces"
"""Under which a layer keeps what its tasks take."""

_elsewhere = ContextVar("_elsewhere", default=False)
"""Whether this computation was asked to run on another scheduler than the client's."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What the tasks that give the chunks of an array take.

    Args:
        what: the statement, or the source.
        bounds: where pieces begin along each dimension that is cut, and the extent.
        axes: the dimension of the result that has those bounds; None where pieces are combined along them.
        nbytes: the bytes that each piece needs of its own, the last cut's number counting fastest; None where that is
            not known before it is computed.
        fixed: the bytes that every piece needs besides.
    """

    what: str
    bounds: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...]
    nbytes: tuple[int, ...] | None
    fixed: int = 0

    def check(self, limit: int) -> None:
        """Refuses pieces larger than a worker may hold.

        Raises:
            TooLargeError: with the number of pieces that fits.
        """
        if self.nbytes is None or max(self.nbytes, default=0) + self.fixed <= limit:
            return
        largest = int(np.argmax(self.nbytes))
        needed = self.nbytes[largest] + self.fixed
        if self.fixed >= limit:
            way = (
                f"its operands that every piece reads take {in_units(self.fixed)}: cut along another variable (along=)"
            )
        else:
            fitting = -(-sum(self.nbytes) // max(1, (limit - self.fixed) * 9 // 10))  # pieces are not all of a size
            way = f"give pieces={max(fitting, len(self.nbytes) + 1)}, or as many chunks"
            if len(self.bounds) > 1:
                way = f"give operands in smaller chunks, so that there are {max(fitting, len(self.nbytes) + 1)} pieces"
        raise TooLargeError(
            f"expected pieces of at most {in_units(limit)}, {_SHARE} of the least limit of a worker, but got "
            f"{in_units(needed)} for {self._place(largest)}: {way}"
        )

    def place_of(self, key: Sequence[Any], *, chunk: bool) -> str:
        """Returns a piece as messages name it.

        Args:
            key: the numbers in its task's key: of the piece along each cut, or of a chunk along each dimension.
            chunk: whether they are a chunk's.
        """
        own = [key[axis] if axis is not None and axis < len(key) else 0 for axis in self.axes] if chunk else list(key)
        counts = [len(ends) - 1 for ends in self.bounds]
        if len(own) != len(counts) or any(at >= count for at, count in zip(own, counts, strict=True)):
            return f"a piece of {self.what}"
        return self._place(int(np.ravel_multi_index(own, counts)))

    def _place(self, number: int) -> str:
        own = np.unravel_index(number, [len(ends) - 1 for ends in self.bounds])
        ranges = [f"{ends[at]} to {ends[at + 1]} of {ends[-1]}" for ends, at in zip(self.bounds, own, strict=True)]
        return f"piece {number} of {self.what} ({' and '.join(ranges)})"


class CheckedArray(dask.array.Array):  # type: ignore[misc]  # Dask has no types
    """A dask.array whose layers may know what their tasks take (`annotate`).

    What Dask makes of it (`A + 1`) is Dask's own array again.
    """

    def __dask_postcompute__(self) -> Any:
        self._check()
        sizes = chunk_bytes(self)
        if sizes is not None:
            check_fits(sum(sizes), f"the {'x'.join(map(str, self.shape))} result of all chunks in this process")
        return super().__dask_postcompute__()

    def __dask_postpersist__(self) -> Any:
        self._check()
        return super().__dask_postpersist__()

    def compute(self, **options: Any) -> Any:
        """Computes the array, as `dask.array.Array.compute`.

        Raises:
            TooLargeError: for a piece larger than a worker may hold, and a result that does not fit here.
            DistributedError: for a piece whose workers died, each of them.
        """
        with _on(options.get("scheduler")), self._naming_pieces():
            return super().compute(**options)

    def persist(self, **options: Any) -> Any:
        """Computes the chunks and keeps them where they are, as `dask.array.Array.persist`."""
        with _on(options.get("scheduler")):
            return super().persist(**options)

    def rechunk(self, *args: Any, **options: Any) -> Any:
        """Returns the array in other chunks, as `dask.array.Array.rechunk`; chunks that are tensors move by tasks.

        Raises:
            UnsupportedError: for tensors by `method="p2p"`, by which Dask's workers exchange NumPy's arrays alone.
        """
        if isinstance(self._meta, np.ndarray):
            return super().rechunk(*args, **options)
        if options.get("method") == "p2p":
            raise UnsupportedError('expected method="tasks" for chunks that are tensors, but got "p2p": leave it out')
        return super().rechunk(*args, **{**options, "method": "tasks"})

    def to_zarr(self, *args: Any, **options: Any) -> Any:
        """Writes the array, as `dask.array.Array.to_zarr`.

        Raises:
            UnsupportedError: for chunks that are tensors, as Zarr's chunks are arrays.
        """
        if not isinstance(self._meta, np.ndarray):
            raise UnsupportedError(
                "expected chunks that are arrays to write to Zarr, but got tensors: give "
                "A.map_blocks(lambda part: part.to_numpy()), or write the parts by mlir_sparse.write"
            )
        return super().to_zarr(*args, **options)

    def _check(self) -> None:
        workers = [] if _elsewhere.get() else _limited_workers()
        if not workers:
            return
        limit = int(_SHARE * min(worker["memory_limit"] for worker in workers))
        for one in _pieces_in(self):
            one.check(limit)
        _check_at_hand(self, workers)

    @contextmanager
    def _naming_pieces(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "KilledWorker":
                raise
            key = getattr(error, "task", None)
            raise DistributedError(
                f"expected workers that live until they have computed {self._place_of(key)}, but each of the "
                f"{getattr(error, 'allowed_failures', 0) + 1} that ran it died: look at its memory, or what it reads"
            ) from error

    def _place_of(self, key: Any) -> str:
        if isinstance(key, tuple):
            for layer, pieces in _known_pieces(self):
                if key[0] in (layer, pieces_beside(layer)) and pieces is not None:
                    return pieces.place_of(key[1:], chunk=key[0] == layer)
        # A kernel or a whole operand, which waits on the same worker as a piece, may be blamed for its death.
        own = next(
            (pieces.what for name, pieces in _known_pieces(self) if pieces is not None and name == self.name), ""
        )
        return f"what pieces of {own} read" if own else str(key)


def _known_pieces(array: Any) -> Iterator[tuple[str, Pieces | None]]:
    for name, layer in array.dask.layers.items():
        yield name, (layer.collection_annotations or {}).get(_ANNOTATION)


def _pieces_in(array: Any) -> Iterator[Pieces]:
    return (pieces for _, pieces in _known_pieces(array) if pieces is not None)


def annotate(array: CheckedArray, pieces: Pieces) -> None:
    """Keeps what an array's pieces take with its layer of the graph, where arrays made of it find it."""
    layer = array.dask.layers[array.name]
    layer.collection_annotations = {**(layer.collection_annotations or {}), _ANNOTATION: pieces}


@contextmanager
def _on(scheduler: Any) -> Iterator[None]:
    token = _elsewhere.set(isinstance(scheduler, str) and scheduler.lower() in _LOCAL)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def _limited_workers() -> list[dict[str, Any]]:
    """Returns what the scheduler knows of the workers of the client in use that have limits of memory."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return []
    try:
        client = distributed.get_client()
        workers = client.scheduler_info()["workers"].values()
    except ValueError:  # no client
        return []
    return [worker for worker in workers if worker.get("memory_limit")]


def _check_at_hand(array: Any, workers: Sequence[dict[str, Any]]) -> None:
    """Refuses a graph with more in it than workers take before their first tasks.

    Such values arrive with their tasks, which a worker cannot write to disk: above its limit it waits for ever.

    Raises:
        TooLargeError: with what to do instead.
    """
    room = int(sum(_PAUSED * worker["memory_limit"] - _unmanaged(worker) for worker in workers))
    if _bytes_at_hand(array.dask) <= room:
        return
    needed = _bytes_at_hand(array.dask.cull(array.__dask_keys__()))
    if needed > room:
        raise TooLargeError(
            f"expected tensors and arrays of at most {in_units(max(0, room))} in this process, which is what the "
            f"workers have room for before their first tasks, but got {in_units(needed)}: write them to files "
            "(mlir_sparse.write) that workers read (from_files), or give workers more memory"
        )


def _unmanaged(worker: dict[str, Any]) -> int:
    metrics = worker.get("metrics") or {}
    return max(0, int(metrics.get("memory", 0)) - int(metrics.get("managed_bytes", 0)))


def _bytes_at_hand(graph: Any) -> int:
    layers = [getattr(layer, "mapping", None) for layer in graph.layers.values()]  # others name functions alone
    tasks = (task for layer in layers if layer is not None for task in layer.values())
    return sum(int(task.nbytes) for task in tasks if isinstance(task, SparseTensor | np.ndarray))


def pieces_of(
    what: str,
    bounds: Sequence[Sequence[int]],
    axes: Sequence[int | None],
    parts: Sequence[Sequence[int] | None],
    fixed: int = 0,
) -> Pieces:
    """Returns what pieces take.

    Args:
        what: the statement, or the source.
        bounds: where pieces begin along each dimension that is cut, and the extent.
        axes: the dimension of the result that has those bounds.
        parts: for each operand, and for the result, the bytes of what each piece has of it; None where not known yet.
        fixed: the bytes that every piece needs besides.
    """
    known = [part for part in parts if part is not None]
    sizes = tuple(map(sum, zip(*known, strict=True))) if len(known) == len(parts) else None
    return Pieces(what, tuple(map(tuple, bounds)), tuple(axes), sizes, fixed)
