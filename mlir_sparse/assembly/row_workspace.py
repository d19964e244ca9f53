"""A row of a sparse result while it is summed up: an array of values, and a tree of bits over it.

A bit says that a coordinate has an entry; a bit of the tree's second level says that
a word of bits is not 0, one of the third the same of the second. Walking down from
the top meets the entries in order, so that nothing is sorted, and costs what the row
has entries and the top has words: one for every 262144 coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build

__all__ = ["Workspace", "zero_of"]

_BITS = 6  # 64 to a word


class Workspace:
    """The workspace of a function.

    Args:
        buffers: values, then the levels of bits from the lowest: all 0 between rows.
    """

    def __init__(self, buffers: Sequence[ir.Value]) -> None:
        self.values, *self.levels = buffers

    def has(self, coordinate: ir.Value) -> ir.Value:
        """Returns whether a coordinate has an entry."""
        word = build.load(self.levels[0], _word(coordinate))
        return build.operation("arith.trunci", _truth(), build.bits_of("shrui", word, _place(coordinate)))

    def mark(self, coordinate: ir.Value, *, ordered: bool) -> None:
        """Notes that a coordinate has an entry, whether it had or not.

        Args:
            coordinate: the coordinate.
            ordered: whether entries will be asked for in order, and not one by one.
        """
        self._mark(coordinate, 0, len(self.levels) if ordered else 1)

    def _mark(self, coordinate: ir.Value, level: int, height: int) -> None:
        bits, at = self.levels[level], _word(coordinate)
        word = build.load(bits, at)
        build.store(build.bits_of("ori", word, _bit(coordinate)), bits, at)
        if level + 1 == height:
            return
        if level == 0:
            # No processor foresees whether this is the first entry of its word; of 64 words, it mostly is not.
            self._mark(at, level + 1, height)
        else:
            empty = build.compare("eq", word, build.integer(0, build.word_type()))
            build.branch(empty, lambda: self._mark(at, level + 1, height))

    def take(self, coordinate: ir.Value) -> ir.Value:
        """Returns the value of a coordinate that has an entry, and forgets the entry."""
        bits, at = self.levels[0], _word(coordinate)
        build.store(build.bits_of("xori", build.load(bits, at), _bit(coordinate)), bits, at)
        return self._taken(coordinate)

    def taken_with_word(self, coordinate: ir.Value) -> ir.Value:
        """Returns the value of an entry, and forgets it and all others of its word: each of them is taken, too."""
        build.store(build.integer(0, build.word_type()), self.levels[0], _word(coordinate))
        return self._taken(coordinate)

    def _taken(self, coordinate: ir.Value) -> ir.Value:
        value = build.load(self.values, coordinate)
        build.store(zero_of(value.type), self.values, coordinate)
        return value

    def drain(self, carried: ir.Value, visit: Callable[[ir.Value, ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """Calls for every entry in order, which leaves the workspace empty.

        Args:
            carried: a value to pass from entry to entry.
            visit: takes that value, the entry's value and its coordinate; returns the next carried value.

        Returns:
            the carried value after the last entry.
        """
        top = len(self.levels) - 1
        return build.loop(
            build.size_of(self.levels[top]), [carried], lambda at, count: [self._words(top, at, count, visit)]
        )[0]

    def _words(
        self, level: int, at: ir.Value, carried: ir.Value, visit: Callable[[ir.Value, ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        """Visits what a word of bits stands for, and clears the word."""
        zero = build.integer(0, build.word_type())
        word = build.load(self.levels[level], at)
        build.store(zero, self.levels[level], at)
        first = build.bits_of("shli", at, build.constant(_BITS))

        def body(bits: ir.Value, count: ir.Value) -> list[ir.Value]:
            lowest = build.operation("math.cttz", bits.type, bits)
            below = build.add(first, build.cut(lowest, build.index_type()))
            rest = build.bits_of("andi", bits, build.add(bits, build.integer(-1, build.word_type())))
            if level:
                return [rest, self._words(level - 1, below, count, visit)]
            return [rest, visit(count, self._taken(below), below)]

        return build.value_after([word, carried], lambda bits, _: build.compare("ne", bits, zero), body)[1]


def _truth() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def _word(coordinate: ir.Value) -> ir.Value:
    return build.bits_of("shrui", coordinate, build.constant(_BITS))


def _place(coordinate: ir.Value) -> ir.Value:
    low = build.bits_of("andi", coordinate, build.constant((1 << _BITS) - 1))
    return build.operation("arith.index_cast", build.word_type(), low)


def _bit(coordinate: ir.Value) -> ir.Value:
    return build.bits_of("shli", build.integer(1, build.word_type()), _place(coordinate))


def zero_of(kind: ir.Type) -> ir.Value:
    """Returns the zero of an element type."""
    if isinstance(kind, ir.ComplexType):
        part = ir.FloatAttr.get(ir.ComplexType(kind).element_type, 0.0)
        return build.operation("complex.constant", kind, value=ir.ArrayAttr.get([part, part]))
    if isinstance(kind, ir.IntegerType):
        return build.integer(0, kind)
    return build.operation("arith.constant", kind, value=ir.FloatAttr.get(kind, 0.0))
