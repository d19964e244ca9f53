"""Vectors of entries of a row, accumulated lane by lane."""

from __future__ import annotations

from functools import reduce

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import Accumulation
from mlir_sparse.loops.complex_lanes import elements_at, parts_of, place_of, vector_of
from mlir_sparse.loops.effects import access_of, is_complex, is_truth, lane_bits
from mlir_sparse.loops.emit_copies import rewritten
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_vectors import broadcast, lane_numbers, slice_of
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.value_origins import maker, result_maker
from mlir_sparse.loops.vector_bodies import VectorValues

__all__ = [
    "LANES",
    "LaneRow",
    "RowVectors",
    "entries_ahead",
    "first_lanes",
    "lanes_of",
    "lanes_of_whole",
    "nothing_in_lanes",
    "terms_of",
]

# Entries at once. SpMV, f64, in ms, entry by entry and so: 5-point grid 2.0 and 1.95, power-law rows 7.9 and 4.0,
# circuit 1.31 and 0.46, finite elements 1.23 and 0.92. Chunks of 4 took 0.75 on the circuit, 1.19 on finite elements.
LANES = 8
# Bits of a vector: the halves of a wider one are put together and taken apart by instructions of their own.
_BITS = 256
_COUNTER = 32  # bits of integers that count lanes of elements that are no wider


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A loop that accumulates what it makes of the entries of a row.

    Args:
        loop: the loop over positions.
        streams: the buffers that it reads at its index.
        values: the values that differ from entry to entry and are vectors of elements; other such are integers.
        accumulated: how.
    """

    loop: ForLoop
    streams: tuple[ir.Value, ...]
    values: frozenset[ir.Value]
    accumulated: Accumulation


def lanes_of(row: LaneRow, size: ir.Value, short: bool, distances: PrefetchDistances) -> ir.Value:
    """Writes a loop over vectors of entries of a row, which has an iteration at least.

    Args:
        row: the loop over entries, which stays.
        size: how many entries there are of all rows.
        short: whether rows are short as a rule.
        distances: how many entries ahead are asked for.

    Returns:
        what each lane has accumulated.
    """
    return RowVectors(row, row.loop.upper, entries_ahead(size, short, distances)).total(row.loop.lower)


def lanes_of_whole(row: LaneRow, end: ir.Value, distances: PrefetchDistances) -> ir.Value:
    """Writes a loop over whole vectors of entries, which may be none.

    Args:
        row: the loop over entries, which stays.
        end: where the last vector ends.
        distances: how many entries ahead are asked for.

    Returns:
        what each lane has accumulated.
    """
    return RowVectors(row, end, build.constant(distances.near)).total_of_whole(row.loop.lower)


def terms_of(row: LaneRow, first: ir.Value) -> list[ir.Value]:
    """Writes what is accumulated for as many entries as there are lanes, in vectors that registers hold.

    Args:
        row: the loop over entries.
        first: where the first of them is.
    """
    width = _width_of(row)
    begins = [build.add(first, build.constant(at)) if at else first for at in range(0, LANES, width)]
    return [_Entries(row, begin, width).of(row.accumulated.term) for begin in begins]


def first_lanes(row: LaneRow, count: ir.Value) -> list[ir.Value]:
    """Writes which lanes of the vectors that `terms_of` makes are of the first entries.

    Lanes are counted in integers that are no wider than elements: vectors of 512 bits, which words take, are held up on
    Intel's processors. SpMV of i32 took 0.79 to 0.96 of the time so, of f32 0.88 to 0.97.

    Args:
        row: the loop over entries.
        count: how many first entries: all where it is no less than the lanes.
    """
    width, word = _width_of(row), build.word_type()
    each = 2 if is_complex(row.accumulated.term.type) else 1
    if width == LANES:
        word = ir.IntegerType.get_signless(_COUNTER)
        count = build.minimum(count, build.constant(LANES))  # a row may have more entries than a counter holds
    first = build.compare("ult", lane_numbers(LANES, each, word), broadcast(build.cut(count, word), LANES * each))
    if width == LANES:
        return [first]
    return [slice_of(first, each * at, each * width) for at in range(0, LANES, width)]


def nothing_in_lanes(row: LaneRow) -> list[ir.Value]:
    """Returns vectors as `terms_of` makes them that change nothing."""
    width = _width_of(row)
    return [row.accumulated.identity(vector_of(width, row.accumulated.term.type))] * (LANES // width)


def _width_of(row: LaneRow) -> int:
    """Returns how many entries a vector is of."""
    element = row.accumulated.term.type
    return LANES if is_truth(element) else min(LANES, _BITS // lane_bits(element))


def entries_ahead(size: ir.Value, short: bool, distances: PrefetchDistances) -> ir.Value:
    """Returns the prefetch distance, in entries."""
    near = build.constant(distances.near)
    if short:
        return near
    far = build.compare("ugt", size, build.constant(distances.held))
    return build.select(far, build.constant(distances.far), near)


class RowVectors:
    """The iterations of the loop over vectors of entries.

    Args:
        row: the loop over entries.
        upper: where the row ends.
        distance: the prefetch distance, in entries.
    """

    def __init__(self, row: LaneRow, upper: ir.Value, distance: ir.Value) -> None:
        self.row = row
        self.upper = upper
        self.distance = distance
        self.width = _width_of(row)
        self.kind = vector_of(self.width, row.accumulated.term.type)

    def total(self, lower: ir.Value) -> ir.Value:
        """Writes the loop; returns what each lane has accumulated."""

        def iteration(first: ir.Value, accumulator: ir.Value) -> list[ir.Value]:
            reached = build.add(first, build.constant(LANES))
            after = self._added(first, accumulator)
            return [build.compare("ult", reached, self.upper), reached, after]

        _, total = build.repeated([lower, self.row.accumulated.identity(self.kind)], iteration)
        return total

    def total_of_whole(self, lower: ir.Value) -> ir.Value:
        """Writes the loop over whole vectors, each part of which has an accumulator of its own."""

        def iteration(first: ir.Value, *accumulators: ir.Value) -> list[ir.Value]:
            parts = zip(accumulators, terms_of(self.row, first), strict=True)
            return [self.row.accumulated.joined(accumulator, part) for accumulator, part in parts]

        totals = build.loop(self.upper, nothing_in_lanes(self.row), iteration, lower, LANES)
        ForLoop(result_maker(totals[0])).mark_whole()
        return reduce(self.row.accumulated.joined, totals)

    def _added(self, first: ir.Value, accumulator: ir.Value) -> ir.Value:
        """Writes an iteration; returns what each lane has accumulated after it."""
        # Parts first: each accumulator waits for the one before it.
        return reduce(self.row.accumulated.joined, (*self.parts(first), accumulator))

    def parts(self, first: ir.Value) -> list[ir.Value]:
        """Writes what is accumulated for the entries from one on, and what changes nothing for those of other rows."""
        for stream in self.row.streams:
            prefetch(stream, [build.add(first, self.distance)])
        own = first_lanes(self.row, build.subtract(self.upper, first))
        made = zip(own, terms_of(self.row, first), strict=True)
        return [build.select(mask, term, self.row.accumulated.identity(term.type)) for mask, term in made]


class _Entries(VectorValues):
    """The values of a loop's body for some entries that follow each other.

    Args:
        row: the loop.
        first: where the first entry is.
        count: how many there are.
    """

    def __init__(self, row: LaneRow, first: ir.Value, count: int) -> None:
        super().__init__(count, row.values, {})
        self.row = row
        self.first = first
        places = [build.add(first, build.constant(lane)) if lane else first for lane in range(count)]
        self.numbers = {row.loop.index: places}

    def computed(self, op: ir.Operation) -> ir.Value:
        """Writes an operation for the entries; loads what it loads."""
        load = access_of(op)
        if load is None:
            return super().computed(op)
        if load.buffer in self.row.streams:
            kind = vector_of(self.lanes, build.element_of(load.buffer))
            place = place_of(load.buffer, [self.first])
            return build.operation("vector.load", kind, parts_of(load.buffer), *place)
        return elements_at(load.buffer, list(zip(*map(self._each, load.at), strict=True)))

    def _each(self, value: ir.Value) -> list[ir.Value]:
        """Returns a value for each entry; one that is the same for all as often."""
        if value in self.numbers:
            return self.numbers[value]
        op = maker(value)
        if op is None or op.parent != self.row.loop.op:
            return [value] * self.lanes
        given = [self._each(operand) for operand in op.operands]
        made = [rewritten(op, operands) for operands in zip(*given, strict=True)]
        self.numbers[value] = made
        return made
