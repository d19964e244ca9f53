"""Sparse results in memory of ours: reserved before the loops run, shrunk to what they filled.

How many entries there will be is known as a bound only. Room for that many is reserved;
what is not touched costs nothing (see `memory.cpp`), so that a loose bound is no waste.
Loops never write beyond the room: they go on counting, and the count says what a second
run needs, or that the result does not fit in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import TooLargeError
from mlir_sparse.runtime.abi import buffer_dtypes
from mlir_sparse.tensor.memory import available_bytes, in_units

__all__ = ["Buffers", "argument_dtypes", "assemble", "compute"]

Array = np.ndarray[Any, Any]

# Below it no look at the memory available is worth its time.
_SMALL = 1 << 26
_WORD = 64


def argument_dtypes(encoding: Encoding, dtype: DType, *, gathers: bool) -> list[np.dtype[Any]]:
    """Returns the dtype of each array that a function with a sparse result fills: buffers, workspace, control."""
    words = [dtype.numpy, *[np.dtype(np.int64)] * 3] if gathers else []
    return [*buffer_dtypes(encoding, dtype), *words, np.dtype(np.int64)]


@dataclass(frozen=True, slots=True)
class Buffers:
    """How long each buffer of a result is, by the entries of its levels.

    Args:
        encoding: dense levels, then compressed ones, or coordinates as a list.
        dtype: the element type.
        gathers: whether rows are gathered in a workspace.
    """

    encoding: Encoding
    dtype: DType
    gathers: bool

    @property
    def depth(self) -> int:
        """Returns how many dense levels lead."""
        return sum(not kind.has_coordinates for kind in self.encoding.level_types)

    @property
    def listed(self) -> bool:
        """Returns whether every level has a coordinate for each entry."""
        kinds = self.encoding.level_types
        return self.depth == 0 and not any(kind.has_positions for kind in kinds[1:])

    @property
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

    def lengths(self, rooms: Sequence[int]) -> list[int]:
        """Returns the length of each buffer, in the order of the calling convention."""
        found, aos = [], self.encoding.aos_levels
        for level, kind in enumerate(self.encoding.level_types):
            if kind.has_positions:
                found.append((rooms[level - 1] if level else 1) + 1)
            if kind.has_coordinates and level not in aos[1:]:
                found.append(rooms[level] * (len(aos) if level in aos else 1))
        return [*found, rooms[-1]]

    @property
    def positions(self) -> list[bool]:
        """Returns of each buffer whether it holds positions."""
        found, aos = [], self.encoding.aos_levels
        for level, kind in enumerate(self.encoding.level_types):
            found += [True] * kind.has_positions + [False] * (kind.has_coordinates and level not in aos[1:])
        return [*found, False]

    def workspace(self, sizes: Sequence[int]) -> list[Array]:
        """Returns an empty workspace for a row: values, and a tree of bits over them."""
        if not self.gathers:
            return []
        found = [_native.reserve(sizes[-1], self.dtype.numpy, zeroed=True)]
        words = sizes[-1]
        for _ in range(3):
            words = -(-words // _WORD)
            found.append(_native.reserve(words, np.dtype(np.int64), zeroed=True))
        return found


@lru_cache(maxsize=256)
def _kinds(layout: Buffers) -> tuple[tuple[np.dtype[Any], bool], ...]:
    """Returns the dtype of each buffer, and whether it holds positions."""
    return tuple(zip(buffer_dtypes(layout.encoding, layout.dtype), layout.positions, strict=True))


def _control(sizes: Sequence[int], rooms: Sequence[int]) -> Array:
    """Returns the last argument: rooms, sizes, counts, and whether a given structure was left."""
    return np.array([*rooms, *sizes, *[0] * len(sizes), 0], dtype=np.int64)


def assemble(
    launcher: _native.Launcher, layout: Buffers, arguments: tuple[Any, ...], sizes: Sequence[int], bound: int
) -> list[Array] | None:
    """Lays a result out.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        bound: a number that its entries do not exceed.

    Returns:
        the buffers, each as long as it has items; None where the operands are not the function's.

    Raises:
        TooLargeError: when the result does not fit in memory.
    """
    rooms = layout.rooms(sizes, _affordable(layout, bound))
    while True:
        try:
            buffers, workspace = _reserve(layout, rooms), layout.workspace(sizes)
        except MemoryError:
            if not any(rooms):
                raise _too_large(layout, sizes, 0) from None
            rooms = layout.rooms(sizes, 0)  # as many addresses are not to be had: count first
            continue
        control = _control(sizes, rooms)
        if not launcher.fill(arguments, [*buffers, *workspace, control]):
            return None
        counts = _counts(layout, sizes, control)
        if all(count <= room for count, room in zip(counts, rooms, strict=True)):
            lengths = layout.lengths(counts)
            return [_native.trim(buffer, length) for buffer, length in zip(buffers, lengths, strict=True)]
        del buffers, workspace
        if counts[-1] > _affordable(layout, counts[-1]):
            raise _too_large(layout, sizes, counts[-1])
        rooms = counts


def _affordable(layout: Buffers, entries: int) -> int:
    """Returns as many entries as memory has room for, at most those asked for."""
    if entries * layout.entry_bytes <= _SMALL:
        return entries
    return min(entries, available_bytes() // layout.entry_bytes)


def _too_large(layout: Buffers, sizes: Sequence[int], entries: int) -> TooLargeError:
    need = entries * layout.entry_bytes
    return TooLargeError(
        f"expected the result's {entries} entries in {layout.encoding.map_text()} of {tuple(sizes)} to fit in the "
        f"{in_units(available_bytes())} of memory available, but got {in_units(need)}: compute fewer rows at a time"
    )


def _reserve(layout: Buffers, rooms: Sequence[int]) -> list[Array]:
    """Returns buffers with a place more than there is room for: what is beyond the room goes there."""
    lengths = layout.lengths([room + 1 for room in rooms])
    # Rows that loops leave out must read as empty.
    return [_native.reserve(length, *kind) for length, kind in zip(lengths, _kinds(layout), strict=True)]


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
) -> bool | None:
    """Computes values into a structure that is there.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        buffers: the structure, and an array for its values.

    Returns:
        whether the loops found exactly that structure; None where the operands are not the function's.
    """
    rooms = _rooms_of(layout, sizes, buffers)
    control = _control(sizes, rooms)
    if not launcher.fill(arguments, [*buffers, *layout.workspace(sizes), control]):
        return None
    return not control[-1] and _counts(layout, sizes, control) == rooms


def _rooms_of(layout: Buffers, sizes: Sequence[int], buffers: Sequence[Array]) -> list[int]:
    """Returns the number of entries of each level of a structure."""
    rooms = layout.rooms(sizes, len(buffers[-1]))
    if layout.listed:
        return rooms
    # Below dense levels: positions and coordinates alternate, level by level.
    for level in range(layout.depth, len(sizes)):
        rooms[level] = len(buffers[2 * (level - layout.depth) + 1])
    return rooms
