"""Buffers of sparse results: reserved before the loops run, then trimmed to the entries.

Only a bound on the number of entries is known before. The buffers have that capacity; memory that is not touched costs
nothing (see `memory.cpp`), so a loose bound wastes none. Loops never write beyond the capacity, but go on counting: the
count is the capacity for a second run, or shows that the result does not fit in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import buffer_numbers, level_buffers
from mlir_sparse.errors import TooLargeError
from mlir_sparse.process.available_memory import available_bytes, in_units, plenty
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.process.forks import cached_property
from mlir_sparse.runtime.call_arguments import buffer_dtypes

if TYPE_CHECKING:
    from mlir_sparse.runtime.clean_workspaces import give_back, take_workspace
else:
    import_at_first_call(__name__, {"runtime.clean_workspaces": ("give_back", "take_workspace")})

__all__ = ["SparseResultLayout", "assemble", "compute"]

Array = np.ndarray[Any, Any]

# A look at the memory available takes 0.2 ms. Smaller results need none; up to `_SOME` times the size the last look
# will do.
_SMALL = 1 << 26
_SOME = 16
_WORD = 64
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class SparseResultLayout:
    """The layout of a sparse result: the lengths of its buffers, given the number of entries in its levels.

    Args:
        encoding: dense levels, then compressed ones, or COO.
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
        """Returns the layout as an argument of native calls."""
        numbers, levels = buffer_numbers(self.encoding), range(self.encoding.lvl_rank)
        positions, coordinates = (
            [numbers.get((level, kind), -1) for level in levels] for kind in ("positions", "coordinates")
        )
        return _native.Result.sparse(self.arguments, self.depth, self.is_coo, positions, coordinates)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Returns the dimension that each level stores."""
        return self.encoding.level_order

    @cached_property
    def depth(self) -> int:
        """Returns the number of leading dense levels."""
        return sum(not kind.has_coordinates for kind in self.encoding.level_types)

    @cached_property
    def is_coo(self) -> bool:
        """Returns whether every level has a coordinate for each entry."""
        kinds = self.encoding.level_types
        return self.depth == 0 and not any(kind.has_positions for kind in kinds[1:])

    @cached_property
    def entry_bytes(self) -> int:
        """Returns the bytes of an entry with one coordinate and one position at each level."""
        width = (self.encoding.pos_width or 64) + (self.encoding.crd_width or 64)
        return self.dtype.itemsize + (self.encoding.lvl_rank - self.depth) * width // 8

    @property
    def most_positions(self) -> int:
        """Returns one more than the greatest number of entries that positions can count."""
        width = self.encoding.pos_width or 64
        return 1 << min(width, 31 if width == 32 else 63)

    def capacities(self, sizes: Sequence[int], entries: int) -> list[int]:
        """Returns the greatest number of entries in each level if the last one has `entries`."""
        found, nodes = [], 1
        for level, size in enumerate(sizes):
            nodes *= size
            if level >= self.depth:
                nodes = entries if self.is_coo else min(nodes, entries)
            found.append(nodes)
        return found

    def front_capacities(self, capacities: Sequence[int]) -> list[int]:
        """Returns the capacity in front of the entries of each level, which may grow in both directions."""
        return [capacity + 1 if level >= self.depth else 0 for level, capacity in enumerate(capacities)]

    def begins(self, places: Sequence[int]) -> list[int]:
        """Returns the begin of each buffer, given the number of unused places in front of each level's entries."""
        found = [
            (places[level - 1] if level else 0) if kind == "positions" else places[level] * len(levels)
            for level, kind, levels in level_buffers(self.encoding)
        ]
        return [*found, places[-1]]

    def lengths(self, capacities: Sequence[int]) -> list[int]:
        """Returns the length of each buffer, in the order of the calling convention."""
        found = [
            (capacities[level - 1] if level else 1) + 1 if kind == "positions" else capacities[level] * len(levels)
            for level, kind, levels in level_buffers(self.encoding)
        ]
        return [*found, capacities[-1]]

    @cached_property
    def kinds(self) -> list[tuple[np.dtype[Any], bool]]:
        """Returns the dtype of each buffer, and whether it has positions."""
        holds_positions = [*(array.kind == "positions" for array in level_buffers(self.encoding)), False]
        return list(zip(buffer_dtypes(self.encoding, self.dtype), holds_positions, strict=True))

    def workspace(self, sizes: Sequence[int]) -> list[Array]:
        """Returns the zeroed workspace of a row: values, a tree of bits over them, places of a scattered row."""
        lengths = self.workspace_lengths(sizes)
        first = len(self.kinds)
        return take_workspace(lengths, self.arguments[first : first + len(lengths)])

    def workspace_lengths(self, sizes: Sequence[int]) -> list[int]:
        """Returns the lengths of the workspace's arrays."""
        lengths = [sizes[-1]] if self.gathers else []
        for _ in range(3 if self.gathers else 0):
            lengths.append(-(-lengths[-1] // _WORD))
        return [*lengths, sizes[-1]] if self.scatters else lengths


def _control(sizes: Sequence[int], capacities: Sequence[int], limit: int = 0) -> Array:
    """Returns the last argument: capacities, sizes, counts, whether the loops left a given structure, limit, begin."""
    return np.array([*capacities, *sizes, *[0] * len(sizes), 0, limit, 0], dtype=np.int64)


def assemble(
    launcher: _native.Launcher,
    layout: SparseResultLayout,
    arguments: tuple[Any, ...],
    sizes: Sequence[int],
    bounds: tuple[int, int],
    points: int,
) -> list[Array] | None:
    """Runs the loops that assemble and compute a result.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        bounds: a lower and an upper bound on its number of entries.
        points: an estimate of the number of points to compute.

    Returns:
        the buffers, trimmed; None for operands of other types than the function's.

    Raises:
        TooLargeError: for a result that does not fit in memory.
    """
    least, most = bounds
    limit = _affordable(layout, most)
    if least > limit:
        raise _too_large(layout, sizes, least)
    capacities = layout.capacities(sizes, min(most, _in_steps(limit)))
    chunks = launcher.pieces(arguments, min(points, _MOST))
    while True:
        is_split = chunks > 1 and _native.thread_limit() > 1
        front = layout.front_capacities(capacities) if is_split else [0] * len(capacities)
        try:
            buffers = _reserve(layout, [capacity + more for capacity, more in zip(capacities, front, strict=True)])
            found = _filled(launcher, layout, arguments, sizes, _Reserved(buffers, capacities, front, limit, chunks))
        except MemoryError:
            # The addresses did not suffice: without chunks, and so without front capacity, the result may still fit.
            if chunks < 2 and not capacities[-1]:
                raise _too_large(layout, sizes, 0) from None
            capacities, chunks = (capacities, 1) if chunks > 1 else (layout.capacities(sizes, 0), 1)
            continue
        if found is None:
            return None
        counts, begins = found
        if all(count <= capacity for count, capacity in zip(counts, capacities, strict=True)):
            parts = zip(buffers, layout.lengths(counts), layout.begins(begins), strict=True)
            return [_native.trim(buffer, length, begin) for buffer, length, begin in parts]
        if counts[-1] > limit or counts == capacities:
            raise _too_large(layout, sizes, counts[-1])
        capacities = counts


@dataclass(frozen=True, slots=True)
class _Reserved:
    """Buffers for entries: their capacities, those in front, the greatest useful number of entries, and chunks."""

    buffers: Sequence[Array]
    capacities: Sequence[int]
    front: Sequence[int]
    limit: int
    chunks: int


def _filled(
    launcher: _native.Launcher,
    layout: SparseResultLayout,
    arguments: tuple[Any, ...],
    sizes: Sequence[int],
    target: _Reserved,
) -> tuple[list[int], list[int]] | None:
    """Fills buffers; returns the number of entries in each level, and of unused places in front of them."""
    if target.chunks < 2:
        control, workspace = _control(sizes, target.capacities, target.limit), layout.workspace(sizes)
        if not launcher.fill(arguments, [*target.buffers, *workspace, control]):
            return None
        counts = _counts(layout, sizes, control)
        if all(count <= capacity for count, capacity in zip(counts, target.capacities, strict=True)):
            give_back(workspace)
        return counts, [0] * len(sizes)
    lengths, both = layout.workspace_lengths(sizes), any(target.front)
    buffers, capacities = target.buffers, target.capacities
    found = launcher.join(arguments, target.chunks, buffers, capacities, both, sizes, lengths, target.limit)
    if found is None:
        return None
    counts, begins = found
    return [*layout.capacities(sizes, 0)[: layout.depth], *counts[layout.depth :]], begins


def _affordable(layout: SparseResultLayout, bound: int) -> int:
    """Returns the number of entries that fit in memory; no limit if the bound is far below."""
    need = bound * layout.entry_bytes
    if need <= _SMALL or (need <= _SOME * _SMALL and need <= plenty()):
        return 1 << 62
    # Leave some memory free: without any, the next write of other data would end the process.
    return available_bytes() * 7 // 8 // layout.entry_bytes


def _in_steps(limit: int) -> int:
    """Returns a limit with its first bits alone: what is available differs a little at each call, and memory that an
    earlier result had serves none that reserves more.
    """
    below = max(0, limit.bit_length() - 3)
    return limit >> below << below


def _too_large(layout: SparseResultLayout, sizes: Sequence[int], entries: int) -> TooLargeError:
    available, need = in_units(available_bytes()), in_units(entries * layout.entry_bytes)
    return TooLargeError(
        f"expected a result of sizes {tuple(sizes)} in {layout.encoding.map_text()} to fit in the {available} of "
        f"memory available, but got {need} of {entries} entries, and more: compute fewer rows at a time"
    )


def _reserve(layout: SparseResultLayout, capacities: Sequence[int]) -> list[Array]:
    """Returns buffers with one more place than the capacity: the loops write all further entries there."""
    lengths = layout.lengths([capacity + 1 for capacity in capacities])
    # Rows that the loops skip must be empty.
    return [_native.reserve(length, *kind) for length, kind in zip(lengths, layout.kinds, strict=True)]


def _counts(layout: SparseResultLayout, sizes: Sequence[int], control: Array) -> list[int]:
    counts = layout.capacities(sizes, 0)
    rank = len(sizes)
    for level in range(layout.depth, rank):
        counts[level] = int(control[2 * rank + level])
    return counts


def compute(
    launcher: _native.Launcher,
    layout: SparseResultLayout,
    arguments: tuple[Any, ...],
    sizes: Sequence[int],
    buffers: Sequence[Array],
) -> int | None:
    """Computes the values of a given structure.

    Args:
        launcher: the function.
        layout: the result's buffers.
        arguments: the operands.
        sizes: the result's level sizes.
        buffers: the structure, and an array for its values.

    Returns:
        the number of entries that the loops found, negative if there are as many as in the structure, but others; None
            for operands of other types than the function's.
    """
    capacities = _entries_of(layout, sizes, buffers)
    control = _control(sizes, capacities)
    if not launcher.fill(arguments, [*buffers, *layout.workspace(sizes), control]):
        return None
    counts = _counts(layout, sizes, control)
    differs = control[3 * len(sizes)] or counts != capacities
    return -1 if differs and counts[-1] == capacities[-1] else counts[-1]


def _entries_of(layout: SparseResultLayout, sizes: Sequence[int], buffers: Sequence[Array]) -> list[int]:
    """Returns the number of entries in each level of a structure."""
    capacities = layout.capacities(sizes, len(buffers[-1]))
    if layout.is_coo:
        return capacities
    # Below dense levels: positions and coordinates alternate, level by level.
    for level in range(layout.depth, len(sizes)):
        capacities[level] = len(buffers[2 * (level - layout.depth) + 1])
    return capacities
