"""Elements of sparse operands found by their coordinates, level by level; coordinates in order by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernels.combine_partials import combined, identity
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.program.launch_values import LevelBuffer
from mlir_sparse.program.nest_facts import (
    ChainedSearch,
    CoordinateSearch,
    CountedSearch,
    GroupSearch,
    RowSearch,
    SegmentSearch,
    StoredCoordinates,
)
from mlir_sparse.program.size_values import LevelSize

if TYPE_CHECKING:
    from mlir_sparse.gpu.kernel_writer import KernelText

__all__ = ["find", "find_row"]


def find_row(kernel: KernelText, located: RowSearch, row: ir.Value) -> ir.Value:
    """Writes a search, at the insertion point; returns where a row begins, or the next where there is none."""
    level, kind = located.level, build.index_type()
    search = _Search(kernel, CoordinateSearch(located.tensor, "", (level,), 0, False, located.widths), kind)
    buffer = search.positions(level.positions)
    low, high = (build.widened(build.load(buffer, build.constant(at))) for at in (0, 1))
    place = search.bound(low, high, level.coordinates, row, "ult")
    if located.listed:
        return place
    return build.widened(build.load(search.positions(level.positions + 2), place))


def find(
    kernel: KernelText, located: CoordinateSearch, argument: int, indices: Sequence[ir.Value], kind: ir.Type
) -> tuple[ir.Value, ir.Value]:
    """Writes a search, at the insertion point.

    Args:
        kernel: the kernel.
        located: what is looked up.
        argument: the number of the argument that stands for it.
        indices: the coordinates of the element.
        kind: its type.

    Returns:
        the element, zero where there is none, and whether there is one.
    """
    return _Search(kernel, located, kind).find(argument, indices)


class _Search:
    def __init__(self, kernel: KernelText, located: CoordinateSearch, kind: ir.Type) -> None:
        self._kernel, self._located, self._kind = kernel, located, kind
        self._truth = ir.IntegerType.get_signless(1)

    def find(self, argument: int, indices: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Returns the element at some coordinates, and whether there is one."""
        located = self._located
        sizes = [self._kernel.extent(argument, axis) for axis in range(len(indices))]
        coordinates = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{located.coordinates}>")).value
        self._coordinates = []
        for level in range(len(located.levels)):
            one = coordinates.get_submap([level])
            of = ir.AffineMapAttr.get(one)
            self._coordinates.append(build.operation("affine.apply", build.index_type(), *indices, *sizes, map=of))
        value, found = self._below(0, build.constant(0))
        return value, found

    def _below(self, level: int, place: ir.Value) -> list[ir.Value]:
        """Returns the element below a place of the level above, and whether there is one."""
        if level == len(self._located.levels):
            values = self.buffer(self._located.values, self._kind)
            return [build.load(values, place), build.integer(1, self._truth)]
        match self._located.levels[level]:
            case CountedSearch():
                return self._counted(level, place)
            case GroupSearch(buffer, count):
                return self._group(level, place, StoredCoordinates(buffer), count)
            case SegmentSearch(positions, width, coordinates):
                begin = place if width == 1 else build.multiply(place, build.constant(width))
                low = build.widened(build.load(self.positions(positions), begin))
                end = build.add(begin, build.constant(1))
                high = build.widened(build.load(self.positions(positions), end))
                return self._segment(level, low, high, coordinates)
            case ChainedSearch():
                raise UnmappedError("expected coordinates in a range above those that stand beside others")

    def _counted(self, level: int, place: ir.Value) -> list[ir.Value]:
        """Returns the same, of a level that has all coordinates up to its size."""
        wanted, size = self._coordinates[level], self._kernel.size(LevelSize(self._located.tensor, level))
        there = build.compare("ult", wanted, size)
        return self._where(there, lambda: self._below(level + 1, build.add(build.multiply(place, size), wanted)))

    def _segment(self, level: int, low: ir.Value, high: ir.Value, where: StoredCoordinates) -> list[ir.Value]:
        """Returns the same, of coordinates in a range; those that tuples share are narrowed down level by level."""
        wanted, first = self._coordinates[level], self.bound(low, high, where, self._coordinates[level], "ult")
        following = self._located.levels[level + 1 : level + 2]
        if following and isinstance(following[0], ChainedSearch):
            last = self.bound(first, high, where, wanted, "ule")
            return self._segment(level + 1, first, last, following[0].coordinates)
        inside = build.compare("ult", first, high)

        def look() -> list[ir.Value]:
            same = build.compare("eq", self._coordinate(first, where), wanted)
            return self._where(same, lambda: self._below(level + 1, first))

        return self._where(inside, look)

    def _group(self, level: int, place: ir.Value, where: StoredCoordinates, count: int) -> list[ir.Value]:
        """Returns the same, of so many coordinates; those of places without an entry are any, and hold zeros."""
        value, found = identity("sum", self._kind), build.integer(0, self._truth)
        first = build.multiply(place, build.constant(count))
        for more in range(count):
            at = build.add(first, build.constant(more))
            same = build.compare("eq", self._coordinate(at, where), self._coordinates[level])
            one, there = self._where(same, partial(self._below, level + 1, at))
            value, found = combined("sum", value, one), build.bits_of("ori", found, there)
        return [value, found]

    def bound(self, low: ir.Value, high: ir.Value, where: StoredCoordinates, wanted: ir.Value, before: str) -> ir.Value:
        """Returns the first place in a range whose coordinate is not before the one wanted, or not up to it."""

        def goes_on(start: ir.Value, end: ir.Value) -> ir.Value:
            return build.compare("ult", start, end)

        def half(start: ir.Value, end: ir.Value) -> list[ir.Value]:
            middle = build.bits_of("shrui", build.add(start, end), build.constant(1))
            behind = build.compare(before, self._coordinate(middle, where), wanted)
            after = build.add(middle, build.constant(1))
            return [
                build.select(behind, after, start),
                build.select(behind, end, middle),
            ]

        return build.value_after([low, high], goes_on, half)[0]

    def _coordinate(self, place: ir.Value, where: StoredCoordinates) -> ir.Value:
        at = place
        if (where.stride, where.offset) != (1, 0):
            at = build.multiply(place, build.constant(where.stride))
            at = build.add(at, build.constant(where.offset))
        return build.widened(build.load(self.buffer(where.buffer, _integers(self._located.widths[1])), at))

    def positions(self, number: int) -> ir.Value:
        """Returns a buffer of positions."""
        return self.buffer(number, _integers(self._located.widths[0]))

    def buffer(self, number: int, kind: ir.Type) -> ir.Value:
        """Returns a buffer of the operand."""
        flat = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], kind)
        return self._kernel.parameter(LevelBuffer(self._located.tensor, number), flat)

    def _where(self, condition: ir.Value, then: Callable[[], list[ir.Value]]) -> list[ir.Value]:
        """Returns what is found where a condition holds; nothing is elsewhere."""

        def nothing() -> list[ir.Value]:
            return [identity("sum", self._kind), build.integer(0, self._truth)]

        return build.branch(condition, then, nothing, [self._kind, self._truth])


def _integers(bits: int) -> ir.Type:
    """Returns the type of positions or coordinates; that of `index` for 0 bits."""
    return ir.IntegerType.get_signless(bits) if bits else build.index_type()
