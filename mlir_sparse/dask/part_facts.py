"""What is known of parts that are not at hand as a graph is made.

Of parts that sources read in ranges a sample is read. Parts that were persisted are asked where they are; so what is
asked of them waits until they are there, and is kept with them for the next step of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import getitem
from typing import Any, TypeVar

import numpy as np
from dask.base import tokenize

from mlir_sparse.classes import dataclass
from mlir_sparse.dask.array_chunks import Place, chunk_futures, chunk_sources
from mlir_sparse.dask.image_values import lengths, places_in_chunks, stored_coordinates
from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.dask.task_names import PLACES, beside
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.files.tensor_source import TensorSource, read_part

__all__ = ["asked_of_parts", "image_share", "kept_with_parts", "places_kept"]

_SAMPLED = 3  # parts
_OF_A_PART = 32
_FAILED = ("error", "cancelled", "lost")

_T = TypeVar("_T")

_shares: dict[tuple[str, int], float] = {}
"""Of arrays whose parts sources read, by name and axis."""


@dataclass(frozen=True, slots=True, eq=False)
class _PersistedPlaces:
    """Where images of persisted parts lie: futures by the number of the operand's chunk, for each part in order."""

    places: Sequence[Mapping[int, tuple[Any, int]]]
    share: float


def image_share(part: Any, axis: int, ends: Sequence[int]) -> float | None:
    """Returns how much of an operand the parts of an array read in the mean, at most; None where nobody knows.

    Args:
        part: the array whose chunks are the parts.
        axis: its axis that names the operand's elements.
        ends: where the operand's chunks begin along its own axis, and the extent.
    """
    if chunk_futures(part):
        found = _persisted(part, axis, ends)
        return None if found is None else found.share
    key = (part.name, axis)
    if key not in _shares:
        sampled = _sampled_share(list(chunk_sources(part).values()), axis)
        if sampled is None:
            return None
        _shares[key] = sampled
    return _shares[key]


def places_kept(part: Any, axis: int, ends: Sequence[int]) -> Sequence[Mapping[int, tuple[Any, int]]] | None:
    """Returns where images of persisted parts lie, by the operand's chunk, and how much of each; None for other parts.

    Places are futures.
    """
    found = _persisted(part, axis, ends) if chunk_futures(part) else None
    return None if found is None else found.places


def asked_of_parts(array: Any, question: Callable[[SparseTensor], _T]) -> dict[Place, _T] | None:
    """Returns what a function says of each persisted part, by the place of the chunk; None where there are none."""
    futures = chunk_futures(array)

    def made(client: Any) -> dict[Place, _T]:
        return dict(zip(futures, client.gather(client.map(question, list(futures.values()))), strict=True))

    return kept_with_parts(list(futures.values()), ("asked", question.__qualname__), made)


def kept_with_parts(futures: Sequence[Any], key: tuple[Any, ...], made: Callable[[Any], _T]) -> _T | None:
    """Returns what a function makes of a client for persisted parts, once while their futures live.

    Args:
        futures: the parts.
        key: what is asked of them.
        made: is called with the client of the parts.

    Returns:
        None where a part failed: its error is that of the computation.
    """
    if not futures or any(one.status in _FAILED for one in futures):
        return None
    first = futures[0]
    return kept_while((first,), ("persisted", *key), lambda: made(first.client))


def _persisted(part: Any, axis: int, ends: Sequence[int]) -> _PersistedPlaces | None:
    futures = list(chunk_futures(part).values())

    def asked(client: Any) -> _PersistedPlaces:
        label = f"{PLACES}-{tokenize(part.name, axis, ends)}"
        tasks = {(beside(label, "all"), n): (places_in_chunks, one, axis, list(ends)) for n, one in enumerate(futures)}
        counting = {(beside(label, "count"), n): (lengths, (beside(label, "all"), n)) for n in range(len(futures))}
        whole = client.get(tasks, list(tasks), sync=False)  # kept until their parts are taken out of them
        counts = client.get(tasks | counting, list(counting))
        pairs = [(n, chunk) for n, own in enumerate(counts) for chunk, count in enumerate(own) if count]
        picked = {(label, n, chunk): (getitem, whole[n], chunk) for n, chunk in pairs}
        found: list[dict[int, tuple[Any, int]]] = [{} for _ in futures]
        for (n, chunk), future in zip(pairs, client.get(picked, list(picked), sync=False), strict=True):
            found[n][chunk] = future, counts[n][chunk]
        return _PersistedPlaces(found, float(np.sum(counts) / max(1, ends[-1] * len(futures))))

    return kept_with_parts(futures, ("places", axis, *ends), asked)


def _sampled_share(parts: Sequence[tuple[TensorSource, int, int]], axis: int) -> float | None:
    """Returns how many of the coordinates of an axis a part stores at most, by a sample of rows.

    A part has at most as many coordinates as its rows have in all, so those of a sample are multiplied.
    """
    filled = [(source, low, high) for source, low, high in parts if low < high]
    if not filled or not all(source.reads_ranges for source, _, _ in filled):
        return None
    places = sorted({number * (len(filled) - 1) // (_SAMPLED - 1) for number in range(_SAMPLED)})
    chosen = [filled[at] for at in places]
    shares = []
    for source, low, high in chosen:
        rows = min(high - low, max(source.unit, (high - low) // _OF_A_PART // source.unit * source.unit))
        begin = low + (high - low - rows) // 2 // source.unit * source.unit
        named = stored_coordinates(read_part(source, begin, begin + rows), axis)
        if named is None:
            return None
        shares.append(min(1.0, named.size * ((high - low) / rows) / max(1, source.shape[axis])))
    return float(np.mean(shares))
