"""Elements of sparse operands found by their coordinates, level by level; coordinates in order by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.gpu.kernels.combine_partials import combined, identity
from mlir_sparse.loops import ir_words

if TYPE_CHECKING:
    from mlir_sparse.gpu.kernel_writer import KernelText

__all__ = ["LOCATED", "CoordinateSearch", "RowSearch", "find", "find_row", "read_located", "read_located_rows"]

LOCATED_ROWS = "located_rows"  # and of operands whose rows are looked up
LOCATED = "located"  # what a function says of arguments that stand for sparse operands


@dataclass(frozen=True, slots=True)
class CoordinateSearch:
    """An argument whose elements are looked up.

    Args:
        argument: its number.
        tensor: the operand.
        coordinates: an `affine_map` from the coordinates and sizes of an element to those of each level.
        levels: how each level is searched.
        values: the number of the buffer of values.
        whole: whether there are zeros where it has no entry.
        widths: the element types of positions and of coordinates.
    """

    argument: int
    tensor: str
    coordinates: ir.Attribute
    levels: tuple[str, ...]
    values: int
    whole: bool
    widths: tuple[ir.Type, ir.Type]


def read_located(function: ir.Operation) -> dict[int, CoordinateSearch]:
    """Returns what a function says is looked up, by the number of the argument."""
    if LOCATED not in function.attributes:
        return {}
    found = {}
    for attribute in ir.ArrayAttr(function.attributes[LOCATED]):
        fields = ir.DictAttr(attribute)
        positions, coordinates = (ir.TypeAttr(width).value for width in ir.ArrayAttr(fields["widths"]))
        one = CoordinateSearch(
            int(ir.IntegerAttr(fields["argument"]).value),
            ir.StringAttr(fields["tensor"]).value,
            fields["coordinates"],
            tuple(ir.StringAttr(text).value for text in ir.ArrayAttr(fields["levels"])),
            int(ir.IntegerAttr(fields["values"]).value),
            bool(ir.BoolAttr(fields["whole"]).value),
            (positions, coordinates),
        )
        found[one.argument] = one
    return found


@dataclass(frozen=True, slots=True)
class RowSearch:
    """An operand whose rows are looked up.

    Args:
        argument: the number of the argument that stands for where they begin.
        tensor: the operand.
        level: how its outermost level is searched.
        listed: whether the coordinates below are stored with each entry.
        stride: how far these are apart, and from where on.
        widths: the element types of positions and of coordinates.
    """

    argument: int
    tensor: str
    level: str
    listed: bool
    stride: tuple[int, int]
    widths: tuple[ir.Type, ir.Type]


def read_located_rows(function: ir.Operation) -> dict[int, RowSearch]:
    """Returns the operands whose rows are looked up, by the number of their first argument."""
    if LOCATED_ROWS not in function.attributes:
        return {}
    found = {}
    for attribute in ir.ArrayAttr(function.attributes[LOCATED_ROWS]):
        fields = ir.DictAttr(attribute)
        positions, coordinates = (ir.TypeAttr(width).value for width in ir.ArrayAttr(fields["widths"]))
        stride, offset = ir.DenseI64ArrayAttr(fields["stride"])
        number = int(ir.IntegerAttr(fields["argument"]).value)
        found[number] = RowSearch(
            number,
            ir.StringAttr(fields["tensor"]).value,
            ir.StringAttr(fields["level"]).value,
            bool(ir.BoolAttr(fields["listed"]).value),
            (stride, offset),
            (positions, coordinates),
        )
    return found


def find_row(kernel: KernelText, located: RowSearch, row: ir.Value) -> ir.Value:
    """Writes a search, at the insertion point; returns where a row begins, or the next where there is none."""
    positions, _, *where = (int(number) for number in located.level.split()[1:])
    same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(1))
    search = _Search(
        kernel,
        CoordinateSearch(0, located.tensor, same, (located.level,), 0, False, located.widths),
        ir_words.index_type(),
    )
    buffer = search.buffer(positions, located.widths[0])
    low, high = (ir_words.widened(ir_words.load(buffer, ir_words.constant(at))) for at in (0, 1))
    place = search.bound(low, high, where, row, "ult")
    if located.listed:
        return place
    return ir_words.widened(ir_words.load(search.buffer(positions + 2, located.widths[0]), place))


def find(
    kernel: KernelText, located: CoordinateSearch, indices: Sequence[ir.Value], kind: ir.Type
) -> tuple[ir.Value, ir.Value]:
    """Writes a search, at the insertion point.

    Args:
        kernel: the kernel.
        located: what is looked up.
        indices: the coordinates of the element.
        kind: its type.

    Returns:
        the element, zero where there is none, and whether there is one.
    """
    return _Search(kernel, located, kind).find(indices)


class _Search:
    def __init__(self, kernel: KernelText, located: CoordinateSearch, kind: ir.Type) -> None:
        self._kernel, self._located, self._kind = kernel, located, kind
        self._truth = ir.IntegerType.get_signless(1)

    def find(self, indices: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Returns the element at some coordinates, and whether there is one."""
        located = self._located
        sizes = [self._kernel.extent(located.argument, axis) for axis in range(len(indices))]
        self._coordinates = []
        for level in range(len(located.levels)):
            one = ir.AffineMapAttr(located.coordinates).value.get_submap([level])
            of = ir.AffineMapAttr.get(one)
            self._coordinates.append(
                ir_words.operation("affine.apply", ir_words.index_type(), *indices, *sizes, map=of)
            )
        value, found = self._below(0, ir_words.constant(0))
        return value, found

    def _below(self, level: int, place: ir.Value) -> list[ir.Value]:
        """Returns the element below a place of the level above, and whether there is one."""
        if level == len(self._located.levels):
            values = self.buffer(self._located.values, self._kind)
            return [ir_words.load(values, place), ir_words.integer(1, self._truth)]
        how, *numbers = self._located.levels[level].split()
        wanted = self._coordinates[level]
        if how == "dense":
            size = self._kernel.size(f"level_size {self._located.tensor} {level}")
            there = ir_words.compare("ult", wanted, size)
            return self._where(
                there, lambda: self._below(level + 1, ir_words.add(ir_words.multiply(place, size), wanted))
            )
        if how == "kept":
            return self._kept(level, place, *(int(number) for number in numbers))
        positions, width, *rest = (int(number) for number in numbers)
        begin = place if width == 1 else ir_words.multiply(place, ir_words.constant(width))
        buffer = self.buffer(positions, self._located.widths[0])
        low = ir_words.widened(ir_words.load(buffer, begin))
        high = ir_words.widened(ir_words.load(buffer, ir_words.add(begin, ir_words.constant(1))))
        return self._segment(level, low, high, rest)

    def _segment(self, level: int, low: ir.Value, high: ir.Value, where: Sequence[int]) -> list[ir.Value]:
        """Returns the same, of coordinates in a range; those that tuples share are narrowed down level by level."""
        wanted, first = self._coordinates[level], self.bound(low, high, where, self._coordinates[level], "ult")
        following = self._located.levels[level + 1 : level + 2]
        if following and following[0].startswith("chained"):
            last = self.bound(first, high, where, wanted, "ule")
            return self._segment(level + 1, first, last, [int(number) for number in following[0].split()[1:]])
        inside = ir_words.compare("ult", first, high)

        def look() -> list[ir.Value]:
            same = ir_words.compare("eq", self._coordinate(first, where), wanted)
            return self._where(same, lambda: self._below(level + 1, first))

        return self._where(inside, look)

    def _kept(self, level: int, place: ir.Value, number: int, count: int) -> list[ir.Value]:
        """Returns the same, of so many coordinates; those of places without an entry are any, and hold zeros."""
        value, found = identity("sum", self._kind), ir_words.integer(0, self._truth)
        first = ir_words.multiply(place, ir_words.constant(count))
        for more in range(count):
            at = ir_words.add(first, ir_words.constant(more))
            same = ir_words.compare("eq", self._coordinate(at, (number, 1, 0)), self._coordinates[level])
            one, there = self._where(same, partial(self._below, level + 1, at))
            value, found = combined("sum", value, one), ir_words.bits_of("ori", found, there)
        return [value, found]

    def bound(self, low: ir.Value, high: ir.Value, where: Sequence[int], wanted: ir.Value, before: str) -> ir.Value:
        """Returns the first place in a range whose coordinate is not before the one wanted, or not up to it."""

        def goes_on(start: ir.Value, end: ir.Value) -> ir.Value:
            return ir_words.compare("ult", start, end)

        def half(start: ir.Value, end: ir.Value) -> list[ir.Value]:
            middle = ir_words.bits_of("shrui", ir_words.add(start, end), ir_words.constant(1))
            behind = ir_words.compare(before, self._coordinate(middle, where), wanted)
            after = ir_words.add(middle, ir_words.constant(1))
            return [
                ir_words.operation("arith.select", start.type, behind, after, start),
                ir_words.operation("arith.select", start.type, behind, end, middle),
            ]

        return ir_words.value_after([low, high], goes_on, half)[0]

    def _coordinate(self, place: ir.Value, where: Sequence[int]) -> ir.Value:
        number, stride, offset = where
        at = place
        if (stride, offset) != (1, 0):
            at = ir_words.add(ir_words.multiply(place, ir_words.constant(stride)), ir_words.constant(offset))
        return ir_words.widened(ir_words.load(self.buffer(number, self._located.widths[1]), at))

    def buffer(self, number: int, kind: ir.Type) -> ir.Value:
        """Returns a buffer of the operand."""
        flat = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], kind)
        return self._kernel.parameter(f"level {self._located.tensor} {number} {kind}", flat)

    def _where(self, condition: ir.Value, then: Callable[[], list[ir.Value]]) -> list[ir.Value]:
        """Returns what is found where a condition holds; nothing is elsewhere."""

        def nothing() -> list[ir.Value]:
            return [identity("sum", self._kind), ir_words.integer(0, self._truth)]

        return ir_words.branch(condition, then, nothing, [self._kind, self._truth])
