"""Checks a caller's buffers against an encoding that the dialect lacks: every rule of every level format."""

from __future__ import annotations

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.levels.level_positions import ROOT, Array, LevelPositions
from mlir_sparse.encoding.levels.level_rules import Fault, storage_error
from mlir_sparse.encoding.levels.sized_level import dims_of, marks_empty, sized_levels
from mlir_sparse.errors import StorageError
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.stored_padding import is_given

__all__ = ["check_levels"]


def check_levels(storage: LevelStorage, shape: tuple[int, ...]) -> None:
    """Checks all levels from the outermost in, then the values.

    Raises:
        PositionsError: for positions of the wrong number, not monotone, or out of range.
        CoordinatesError: for coordinates out of range, out of order, repeated, or unreachable from their hash.
        StorageError: for values or levels that do not match.
    """
    encoding, places = storage.encoding, ROOT
    for level, pos, crd in zip(sized_levels(encoding, shape), storage.positions, storage.coordinates, strict=True):
        level.functions.check(level, places, pos, crd)
        places = level.functions.walk(level, places, pos, crd)
        _check_order(encoding, level.number, places)
    if places.count != storage.values.size:
        raise storage_error(Fault("values length", 0, 0, places.count, storage.values.size), encoding)
    _check_empty(storage, shape, places)
    _check_slots(encoding, places, storage.values)


def _check_order(encoding: Encoding, level: int, places: LevelPositions) -> None:
    """Checks order and uniqueness of a level, or of the run of singletons that ends with it."""
    types = encoding.level_types
    start = level
    while types[start].functions.is_chained and start > 0 and not marks_empty(encoding, start):
        start -= 1
    if start == level:
        if types[level].functions.lists:
            assert places.parents is not None
            _check_columns(encoding, start, level, places.parents, places)
        return
    # Entries of one parent are adjacent; parents ascend with the levels above the run.
    outer = np.zeros((max(0, places.count - 1),), bool)
    for column in places.columns[:start]:
        outer |= column[1:] != column[:-1]
    parents = np.concatenate([[0], np.cumsum(outer)])[: places.count]
    _check_columns(encoding, start, level, parents, places)


def _check_columns(encoding: Encoding, start: int, level: int, parents: Array, places: LevelPositions) -> None:
    types = encoding.level_types[start : level + 1]
    columns = places.columns[start : level + 1]
    at = np.arange(places.count) if places.live is None else np.flatnonzero(places.live)
    is_ordered = all(kind.ordered for kind in types)
    keys = [parents[at], *(column[at] for column in columns)]
    if not is_ordered:
        order = np.lexsort(keys[::-1])
        at, keys = at[order], [key[order] for key in keys]
    tied = keys[0][1:] == keys[0][:-1]
    for offset, key in enumerate(keys[1:]):
        if is_ordered and (tied & (key[1:] < key[:-1])).any():
            k = int(np.argmax(tied & (key[1:] < key[:-1]))) + 1
            raise storage_error(Fault("order", start + offset, int(at[k]), int(key[k - 1]), int(key[k])), encoding)
        tied = tied & (key[1:] == key[:-1])
        if types[offset].unique and tied.any():
            k = int(np.argmax(tied)) + 1
            got = int(key[k])
            raise storage_error(Fault("duplicate", start + offset, int(at[k]), int(at[k - 1]), got), encoding)


def _check_empty(storage: LevelStorage, shape: tuple[int, ...], places: LevelPositions) -> None:
    """Raises StorageError for values where the tensor has no element: empty slots, padding beyond the edges."""
    if places.live is not None:
        wrong = np.flatnonzero(~places.live & (storage.values != 0))
        if wrong.size:
            at = int(wrong[0])
            raise StorageError(f"expected 0 where there is no entry, but got {storage.values[at]} at values[{at}]")
    outside = np.zeros(places.count, bool)
    dims = dims_of(storage.encoding, places.columns, places.count)
    for dim, extent in zip(dims, shape, strict=True):
        outside |= (dim < 0) | (dim >= extent)
    if places.live is not None:
        outside &= places.live
    wrong = np.flatnonzero(outside & (storage.values != 0))
    if wrong.size:
        at = int(wrong[0])
        where = tuple(int(dim[at]) for dim in dims)
        raise StorageError(
            f"expected zeros beyond shape {shape}, but got {storage.values[at]} at {where}, values[{at}]"
        )


def _check_slots(encoding: Encoding, places: LevelPositions, values: Array) -> None:
    """Raises StorageError unless the n-th entry with the same coordinate is in slot n."""
    for level, spec in enumerate(encoding.levels):
        slots = slots_of(spec)
        if slots is None:
            continue
        stored = is_given(values) if encoding.has_padding else places.live
        at = np.arange(places.count) if stored is None else np.flatnonzero(stored)
        columns = [column[at] for column in places.columns]
        counted = dims_of(encoding, columns, at.size)[slots.dim]
        order = np.lexsort([*columns[:level:-1], counted])
        ordered = counted[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if at.size else ordered
        lengths = np.diff(np.append(begins, at.size))
        expected = np.arange(at.size) - np.repeat(begins, lengths)
        wrong = np.flatnonzero(columns[level][order] != expected)
        if wrong.size:
            entry = order[wrong[0]]
            raise StorageError(
                f"expected entry {expected[wrong[0]]} with {encoding.dim_names[slots.dim]} = {ordered[wrong[0]]} in "
                f"slot {expected[wrong[0]]} of level {level}, but got it in slot {columns[level][entry]}: entries with "
                "the same coordinate fill the slots in order"
            )
