"""A caller's buffers against an encoding that the dialect has no word for: every rule of every level format."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_functions import Children
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.errors import CoordinatesError, PositionsError, StorageError
from mlir_sparse.tensor.fault_words import Fault, storage_error
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.stored_padding import is_given
from mlir_sparse.tensor.walk_storage import ROOT, Places, below, computed_bounds, dims_of, intervals_of, marks_empty

__all__ = ["check_levels"]


def check_levels(storage: LevelStorage, shape: tuple[int, ...]) -> None:
    """Checks all levels from the outermost in, then the values.

    Raises:
        PositionsError: for positions of the wrong number, not monotone, or out of range.
        CoordinatesError: for coordinates out of range, out of order, repeated, or not to be found by hashing.
        StorageError: for values or levels that do not match.
    """
    encoding, places = storage.encoding, ROOT
    for level in range(encoding.lvl_rank):
        pos, crd = storage.positions[level], storage.coordinates[level]
        _check_lengths(encoding, level, places.count, pos, crd)
        if crd is not None:
            _check_range(encoding, shape, level, crd)
        if encoding.level_types[level].functions.children is Children.INTERVALS and pos is not None:
            _check_intervals(encoding, shape, places, level, pos, crd)
        if encoding.level_types[level].functions.children is Children.TABLES and crd is not None:
            _check_tables(level, crd.astype(np.int64), places.count)
        above, places = places, below(encoding, shape, places, level, pos, crd)
        _check_order(encoding, level, above, places)
    if places.count != storage.values.size:
        raise storage_error(Fault("values length", 0, 0, places.count, storage.values.size), encoding)
    _check_empty(storage, shape, places)
    _check_slots(encoding, places, storage.values)


def _check_lengths(encoding: Encoding, level: int, above: int, pos: Array | None, crd: Array | None) -> None:
    kind = encoding.level_types[level]
    stored = crd.size if crd is not None else 0
    match kind.functions.children:
        case Children.LAST_POSITION:
            _check_positions(encoding, level, pos, above, stored)
        case Children.COORDINATES:
            _check_loose(encoding, level, pos, above, stored)
        case Children.INTERVALS if pos is not None:
            _check_positions(encoding, level, pos, above, None)
            if crd is not None and stored != above:
                raise CoordinatesError(
                    f"expected coordinates[{level}] to have length {above}, one for each parent, but got {stored}"
                )
        case Children.PARENTS if kind.functions.is_chained and stored != above:
            raise storage_error(Fault("singleton length", level, 0, above, stored), encoding)
        case Children.TABLES:
            width = stored // max(1, above)
            if width * above != stored or width & (width - 1) or (width == 0 and above):
                raise CoordinatesError(
                    f"expected coordinates[{level}] to be {above} tables of one width, a power of two, but got "
                    f"length {stored}"
                )


def _check_positions(encoding: Encoding, level: int, pos: Array | None, above: int, stored: int | None) -> None:
    assert pos is not None
    if pos.size != above + 1:
        raise storage_error(Fault("positions length", level, 0, above + 1, pos.size), encoding)
    if pos[0] != 0:
        raise storage_error(Fault("positions start", level, 0, 0, int(pos[0])), encoding)
    falls = np.flatnonzero(pos[1:] < pos[:-1])
    if falls.size:
        at = int(falls[0]) + 1
        raise storage_error(Fault("positions step", level, at, int(pos[at - 1]), int(pos[at])), encoding)
    if stored is not None and pos[-1] != stored:
        raise storage_error(Fault("positions end", level, above, stored, int(pos[-1])), encoding)


def _check_loose(encoding: Encoding, level: int, pos: Array | None, above: int, stored: int) -> None:
    assert pos is not None
    if pos.size != 2 * above:
        raise storage_error(Fault("positions length", level, 0, 2 * above, pos.size), encoding)
    outside = np.flatnonzero((pos < 0) | (pos > stored))
    if outside.size:
        at = int(outside[0])
        raise storage_error(Fault("positions range", level, at, stored, int(pos[at])), encoding)
    falls = np.flatnonzero(pos[1:] < pos[:-1])
    if falls.size:
        at = int(falls[0]) + 1
        raise storage_error(Fault("positions step", level, at, int(pos[at - 1]), int(pos[at])), encoding)


def _check_range(encoding: Encoding, shape: Sequence[int], level: int, crd: Array) -> None:
    low, high = encoding.level_bounds(shape)[level]
    if encoding.level_types[level].functions.children is Children.INTERVALS:
        return  # the first of an interval, held against its end
    least = -1 if marks_empty(encoding, level) else low
    outside = np.flatnonzero((crd < least) | (crd >= max(least, high)) & (crd != -1 if least < low else True))
    if outside.size:
        at = int(outside[0])
        empty = ", or -1 for none" if marks_empty(encoding, level) else ""
        raise CoordinatesError(
            f"expected coordinates[{level}] from {low} to {high - 1}{empty}, the coordinates of level {level} "
            f"({encoding.levels[level]}) in shape {tuple(shape)}, but got {crd[at]} at coordinates[{level}][{at}]"
        )


def _check_intervals(
    encoding: Encoding, shape: Sequence[int], above: Places, level: int, pos: Array, crd: Array | None
) -> None:
    starts, lengths = intervals_of(encoding, shape, above, level, pos, crd)
    low, high = computed_bounds(encoding, shape, above, level)
    outside = np.flatnonzero((lengths > 0) & ((starts < low) | (starts + lengths > high)))
    if outside.size:
        at = int(outside[0])
        raise PositionsError(
            f"expected positions[{level}] that keep interval {at} of level {level} within {low[at]} to {high[at] - 1}, "
            f"but got {lengths[at]} coordinates from {starts[at]} on"
        )


def _check_tables(level: int, crd: Array, above: int) -> None:
    """Raises CoordinatesError for a coordinate that a search from its hash on does not find."""
    if crd.size == 0:
        return
    tables = crd.reshape(above, -1)
    width = tables.shape[1]
    empty = np.concatenate([tables < 0, tables < 0], axis=1)
    before = np.concatenate([np.zeros((above, 1), np.int64), np.cumsum(empty, axis=1)], axis=1)
    parents, slots = np.nonzero(tables >= 0)
    home = tables[parents, slots] % width
    end = np.where(slots >= home, slots, slots + width)
    lost = np.flatnonzero(before[parents, end] - before[parents, home])
    if lost.size:
        at = int(parents[lost[0]] * width + slots[lost[0]])
        raise CoordinatesError(
            f"expected coordinates[{level}] in the first free slot from c mod {width} on, but got {crd[at]} at "
            f"coordinates[{level}][{at}] behind an empty slot"
        )


def _check_order(encoding: Encoding, level: int, above: Places, places: Places) -> None:
    """Checks order and uniqueness of a level, or of the whole run of singletons that ends with it."""
    types = encoding.level_types
    start = level
    while types[start].functions.is_chained and start > 0 and not marks_empty(encoding, start):
        start -= 1
    if start == level:
        if types[level].functions.is_segmented or types[level].functions.children is Children.TABLES:
            assert places.parents is not None
            _check_columns(encoding, start, level, places.parents, places)
        return
    # Entries of one parent are neighbours; parents ascend with the levels above the run.
    outer = np.zeros((max(0, places.count - 1),), bool)
    for column in places.columns[:start]:
        outer |= column[1:] != column[:-1]
    parents = np.concatenate([[0], np.cumsum(outer)])[: places.count]
    _check_columns(encoding, start, level, parents, places)


def _check_columns(encoding: Encoding, start: int, level: int, parents: Array, places: Places) -> None:
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


def _check_empty(storage: LevelStorage, shape: tuple[int, ...], places: Places) -> None:
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


def _check_slots(encoding: Encoding, places: Places, values: Array) -> None:
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
