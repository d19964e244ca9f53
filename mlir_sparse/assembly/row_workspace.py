"""A row of a sparse result while it is summed up: an array of values, and a tree of bits over it.

A bit says that a coordinate has an entry; a bit of the tree's second level says that
a word of bits is not 0, one of the third the same of the second. Walking down from
the top meets the entries in order, so that nothing is sorted, and costs what the row
has entries and the top has words: one for every 262144 coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops import ir_words

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
        word = ir_words.load(self.levels[0], _word(coordinate))
        return ir_words.operation("arith.trunci", _truth(), ir_words.bits_of("shrui", word, _place(coordinate)))

    def mark(self, coordinate: ir.Value, *, ordered: bool) -> None:
        """Notes that a coordinate has an entry, whether it had or not.

        Args:
            coordinate: the coordinate.
            ordered: whether entries will be asked for in order, and not one by one.
        """
        self._mark(coordinate, 0, len(self.levels) if ordered else 1)

    def _mark(self, coordinate: ir.Value, level: int, height: int) -> None:
        bits, at = self.levels[level], _word(coordinate)
        word = ir_words.load(bits, at)
        ir_words.store(ir_words.bits_of("ori", word, _bit(coordinate)), bits, at)
        if level + 1 == height:
            return
        if level == 0:
            # No processor foresees whether this is the first entry of its word; of 64 words, it mostly is not.
            self._mark(at, level + 1, height)
        else:
            empty = ir_words.compare("eq", word, ir_words.integer(0, ir_words.word_type()))
            ir_words.branch(empty, lambda: self._mark(at, level + 1, height))

    def take(self, coordinate: ir.Value) -> ir.Value:
        """Returns the value of a coordinate that has an entry, and forgets the entry."""
        bits, at = self.levels[0], _word(coordinate)
        ir_words.store(ir_words.bits_of("xori", ir_words.load(bits, at), _bit(coordinate)), bits, at)
        return self._taken(coordinate)

    def _taken(self, coordinate: ir.Value) -> ir.Value:
        value = ir_words.load(self.values, coordinate)
        ir_words.store(zero_of(value.type), self.values, coordinate)
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
        return ir_words.loop(
            ir_words.size_of(self.levels[top]), [carried], lambda at, count: [self._words(top, at, count, visit)]
        )[0]

    def _words(
        self, level: int, at: ir.Value, carried: ir.Value, visit: Callable[[ir.Value, ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        """Visits what a word of bits stands for, and clears the word."""
        zero = ir_words.integer(0, ir_words.word_type())
        word = ir_words.load(self.levels[level], at)
        ir_words.store(zero, self.levels[level], at)
        first = ir_words.bits_of("shli", at, ir_words.constant(_BITS))

        def body(bits: ir.Value, count: ir.Value) -> list[ir.Value]:
            lowest = ir_words.operation("math.cttz", bits.type, bits)
            below = ir_words.add(first, ir_words.cut(lowest, ir_words.index_type()))
            rest = ir_words.bits_of("andi", bits, ir_words.add(bits, ir_words.integer(-1, ir_words.word_type())))
            if level:
                return [rest, self._words(level - 1, below, count, visit)]
            return [rest, visit(count, self._taken(below), below)]

        return ir_words.value_after([word, carried], lambda bits, _: ir_words.compare("ne", bits, zero), body)[1]


def _truth() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def _word(coordinate: ir.Value) -> ir.Value:
    return ir_words.bits_of("shrui", coordinate, ir_words.constant(_BITS))


def _place(coordinate: ir.Value) -> ir.Value:
    low = ir_words.bits_of("andi", coordinate, ir_words.constant((1 << _BITS) - 1))
    return ir_words.operation("arith.index_cast", ir_words.word_type(), low)


def _bit(coordinate: ir.Value) -> ir.Value:
    return ir_words.bits_of("shli", ir_words.integer(1, ir_words.word_type()), _place(coordinate))


def zero_of(kind: ir.Type) -> ir.Value:
    """Returns the zero of an element type."""
    if isinstance(kind, ir.ComplexType):
        part = ir.FloatAttr.get(ir.ComplexType(kind).element_type, 0.0)
        return ir_words.operation("complex.constant", kind, value=ir.ArrayAttr.get([part, part]))
    if isinstance(kind, ir.IntegerType):
        return ir_words.integer(0, kind)
    return ir_words.operation("arith.constant", kind, value=ir.FloatAttr.get(kind, 0.0))
