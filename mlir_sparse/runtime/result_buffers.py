"""Sparse results in memory of ours: reserved before the loops run, shrunk to what they filled.

How many entries there will be is known as a bound only. Room for that many is reserved;
what is not touched costs nothing (see `memory.cpp`), so that a loose bound is no waste.
Loops never write beyond the room: they go on counting, and the count says what a second
run needs, or that the result does not fit in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import buffer_numbers, level_buffers
from mlir_sparse.errors import TooLargeError
from mlir_sparse.process.available_memory import available_bytes, in_units, was_plenty
from mlir_sparse.process.forks import cached_property
from mlir_sparse.runtime.call_arguments import buffer_dtypes

__all__ = ["Buffers", "assemble", "compute"]

Array = np.ndarray[Any, Any]

# Below it no look at the memory available is worth its time, which is 0.2 ms; up to some times that, the last look may
# do.
_SMALL = 1 << 26
_SOME = 16
_WORD = 64
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Buffers:
    """How long each buffer of a result is, by the entries of its levels.

    Args:
        encoding: dense levels, then compressed ones, or coordinates as a list.
        dtype: the element type.
        gathers: whether rows are gathered in a workspace.
        scatters: whether a row of an operand is scattered.
    """

    encoding: Encoding
    dtype: DType
    gathers: bool
    scatters: bool

    @cached_property
    def arguments(self) -> list[np.dtype[Any]]:
        """Returns the dtype of each array that the function fills: buffers, workspace, control."""
        words = np.dtype(np.int64)
        workspace = [self.dtype.numpy, words, words, words] if self.gathers else []
        places = [words] if self.scatters else []
        return [*buffer_dtypes(self.encoding, self.dtype), *workspace, *places, words]

    @property
    def native(self) -> _native.Result:
        """Returns the layout as calls take it."""
        numbers, levels = buffer_numbers(self.encoding), range(self.encoding.lvl_rank)
        positions, coordinates = (
            [numbers.get((level, kind), -1) for level in levels] for kind in ("positions", "coordinates")
        )
        return _native.Result.sparse(self.arguments, self.depth, self.listed, positions, coordinates)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Returns the dimension that each level stores."""
        return self.encoding.level_order

    @cached_property
    def depth(self) -> int:
        """Returns how many dense levels lead."""
        return sum(not kind.has_coordinates for kind in self.encoding.level_types)

    @cached_property
    def listed(self) -> bool:
        """Returns whether every level has a coordinate for each entry."""
        kinds = self.encoding.level_types
        return self.depth == 0 and not any(kind.has_positions for kind in kinds[1:])

    @cached_property
    def entry_bytes(self) -> int:
        """Returns the bytes of an entry with a coordinate and a position of its own at each level."""
        width = (self.encoding.pos_width or 64) + (self.encoding.crd_width or 64)
        return self.dtype.itemsize + (self.encoding.lvl_rank - self.depth) * width // 8

    def rooms(self, sizes: Sequence[int], entries: int) -> list[int]:
        """Returns how many entries each level has if the last has `entries`, all levels as loose as can be."""
        found, nodes = [], 1
        for level, size in enumerate(sizes):
            nodes *= size
            if level >= self.depth:
                nodes = entries if self.listed else min(nodes, entries)
            found.append(nodes)
        return found

    def before(self, rooms: Sequence[int]) -> list[int]:
        """Returns room before the entries of each level: one more, so that they may grow in two directions."""
        return [room + 1 if level >= self.depth else 0 for level, room in enumerate(rooms)]

    def begins(self, places: Sequence[int]) -> list[int]:
        """Returns where each buffer begins if so many places of each level come before the entries."""
        found = [
            (places[level - 1] if level else 0) if kind == "positions" else places[level] * len(levels)
            for level, kind, levels in level_buffers(self.encoding)
        ]
        return [*found, places[-1]]

    def lengths(self, rooms: Sequence[int]) -> list[int]:
        """Returns the length of each buffer, in the order of the calling convention."""
        found = [
            (rooms[level - 1] if level else 1) + 1 if kind == "positions" else rooms[level] * len(levels)
            for level, kind, levels in level_buffers(self.encoding)
        ]
        return [*found, rooms[-1]]

    @cached_property
    def kinds(self) -> list[tuple[np.dtype[Any], bool]]:
        """Returns the dtype of each buffer, and whether it holds positions."""
        holds_positions = [*(array.kind == "positions" for array in level_buffers(self.encoding)), False]
        return list(zip(buffer_dtypes(self.encoding, self.dtype), holds_positions, strict=True))

    def workspace(self, sizes: Sequence[int]) -> list[Array]:
        """Returns the workspace of a row, all 0: values, a tree of bits over them, places of a scattered row."""
        first = self.arguments[len(self.kinds) :]
        lengths = self.workspace_lengths(sizes)
        return [_native.reserve(length, dtype, zeroed=True) for length, dtype in zip(lengths, first, strict=False)]

    def workspace_lengths(self, sizes: Sequence[int]) -> list[int]:
        """Returns the lengths of the workspace's arrays."""
        lengths = [sizes[-1]] if self.gathers else []
        for _ in range(3 if self.gathers else 0):
            lengths.append(-(-lengths[-1] // _WORD))
        return [*lengths, sizes[-1]] if self.scatters else lengths


def _control(sizes: Sequence[int], rooms: Sequence[int], limit: int = 0) -> Array:
    """Returns the last argument: rooms, sizes, counts, whether a given structure was left, where to stop and begin."""
    return np.array([*rooms, *sizes, *[0] * len(sizes), 0, limit, 0], dtype=np.int64)


def assemble(
    launcher: _native.Launcher,
    layout: Buffers,
    arguments: tuple[Any, ...],
    sizes: Sequence[int],
    bounds: tuple[int, int],
    points: int,
) -> list[Array] | None:
    """Lays a result out.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        bounds: how many entries it has at least and at most.
        points: at about how many points there is something to compute.

    Returns:
        the buffers, each as long as it has items; None where the operands are not the function's.

    Raises:
        TooLargeError: when the result does not fit in memory.
    """
    least, most = bounds
    limit = _affordable(layout, most)
    if least > limit:
        raise _too_large(layout, sizes, least)
    rooms = layout.rooms(sizes, min(most, limit))
    pieces = launcher.pieces(arguments, min(points, _MOST))
    while True:
        before = layout.before(rooms) if pieces > 1 and _native.thread_limit() > 1 else [0] * len(rooms)
        try:
            buffers = _reserve(layout, [room + more for room, more in zip(rooms, before, strict=True)])
            found = _filled(launcher, layout, arguments, sizes, _Room(buffers, rooms, before, limit, pieces))
        except MemoryError:
            # As many addresses are not to be had: whole, and without room on both sides, the result may still fit.
            if pieces < 2 and not rooms[-1]:
                raise _too_large(layout, sizes, 0) from None
            rooms, pieces = (rooms, 1) if pieces > 1 else (layout.rooms(sizes, 0), 1)
            continue
        if found is None:
            return None
        counts, begins = found
        if all(count <= room for count, room in zip(counts, rooms, strict=True)):
            parts = zip(buffers, layout.lengths(counts), layout.begins(begins), strict=True)
            return [_native.trim(buffer, length, begin) for buffer, length, begin in parts]
        if counts[-1] > limit or counts == rooms:
            raise _too_large(layout, sizes, counts[-1])
        rooms = counts


@dataclass(frozen=True, slots=True)
class _Room:
    """Where entries go: buffers, how many of each level fit, and before those; of how many the result is of use."""

    buffers: Sequence[Array]
    rooms: Sequence[int]
    before: Sequence[int]
    limit: int
    pieces: int


def _filled(
    launcher: _native.Launcher, layout: Buffers, arguments: tuple[Any, ...], sizes: Sequence[int], room: _Room
) -> tuple[list[int], list[int]] | None:
    """Fills buffers; returns how many entries each level has, and how many places come before them."""
    if room.pieces < 2:
        control = _control(sizes, room.rooms, room.limit)
        if not launcher.fill(arguments, [*room.buffers, *layout.workspace(sizes), control]):
            return None
        return _counts(layout, sizes, control), [0] * len(sizes)
    lengths, both = layout.workspace_lengths(sizes), any(room.before)
    found = launcher.join(arguments, room.pieces, room.buffers, room.rooms, both, sizes, lengths, room.limit)
    if found is None:
        return None
    counts, begins = found
    return [*layout.rooms(sizes, 0)[: layout.depth], *counts[layout.depth :]], begins


def _affordable(layout: Buffers, bound: int) -> int:
    """Returns as many entries as memory has room for, any number where the bound is far below."""
    need = bound * layout.entry_bytes
    if need <= _SMALL or (need <= _SOME * _SMALL and was_plenty(need)):
        return 1 << 62
    # Some stays free: memory that was all taken would end the process when anything else is written.
    return available_bytes() * 7 // 8 // layout.entry_bytes


def _too_large(layout: Buffers, sizes: Sequence[int], entries: int) -> TooLargeError:
    available, need = in_units(available_bytes()), in_units(entries * layout.entry_bytes)
    return TooLargeError(
        f"expected a result of sizes {tuple(sizes)} in {layout.encoding.map_text()} to fit in the {available} of "
        f"memory available, but got {need} of {entries} entries, and more: compute fewer rows at a time"
    )


def _reserve(layout: Buffers, rooms: Sequence[int]) -> list[Array]:
    """Returns buffers with a place more than there is room for: what is beyond the room goes there."""
    lengths = layout.lengths([room + 1 for room in rooms])
    # Rows that loops leave out must read as empty.
    return [_native.reserve(length, *kind) for length, kind in zip(lengths, layout.kinds, strict=True)]


def _counts(layout: Buffers, sizes: Sequence[int], control: Array) -> list[int]:
    counts = layout.rooms(sizes, 0)
    rank = len(sizes)
    for level in range(layout.depth, rank):
        counts[level] = int(control[2 * rank + level])
    return counts


def compute(
    launcher: _native.Launcher,
    layout: Buffers,
    arguments: tuple[Any, ...],
    sizes: Sequence[int],
    buffers: Sequence[Array],
) -> int | None:
    """Computes values into a structure that is there.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        buffers: the structure, and an array for its values.

    Returns:
        the number of entries that the loops found: those of the structure if they are the same, a negative number if
        there are as many others; None where the operands are not the function's.
    """
    rooms = _rooms_of(layout, sizes, buffers)
    control = _control(sizes, rooms)
    if not launcher.fill(arguments, [*buffers, *layout.workspace(sizes), control]):
        return None
    counts = _counts(layout, sizes, control)
    differs = control[3 * len(sizes)] or counts != rooms
    return -1 if differs and counts[-1] == rooms[-1] else counts[-1]


def _rooms_of(layout: Buffers, sizes: Sequence[int], buffers: Sequence[Array]) -> list[int]:
    """Returns the number of entries of each level of a structure."""
    rooms = layout.rooms(sizes, len(buffers[-1]))
    if layout.listed:
        return rooms
    # Below dense levels: positions and coordinates alternate, level by level.
    for level in range(layout.depth, len(sizes)):
        rooms[level] = len(buffers[2 * (level - layout.depth) + 1])
    return rooms
