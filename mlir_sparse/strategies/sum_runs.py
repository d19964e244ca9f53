"""Entries that are added to elements of a dense result one by one: in vectors that end where they may.

In lists of coordinates in order, entries of a row follow each other: a run. So it is with fibres of lists of three
coordinates, whose entries share the first two. A loop over vectors of entries carries a run, and what each lane adds up
for it: where the last entry of a vector is of that run, all are. Elsewhere the run ends, and that of the last entry
begins, with one more between them or none as a rule: which entries are whose is found without a branch, and masks take
each. The element of a run is read and written once. Where a sample shows many vectors of more runs, each entry is added
by itself, and no branch tells where rows end.

SpMV, f64, over the time with lanes for vectors of one row alone, on AMD's family 25: 5-point grid 0.8 to 0.9, 7-point
grid 0.6, circuit 0.75, finite elements (64 a row) 0.6, uniform rows of 8 and of 20 0.75 to 1, graphs 0.9 to 1.1: the
more others use the last cache, the more it is that which all wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import accumulation_of
from mlir_sparse.loops.effects import MemoryAccess, access_of, element_bits, is_pure, may_alias, root_of
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_strips import whole_end
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.model_accesses import Accumulate, position_load
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_widening, maker
from mlir_sparse.strategies.read_lanes import lane_row
from mlir_sparse.strategies.row_lanes import LANES, LaneRow, first_lanes, nothing_in_lanes, terms_of

__all__ = ["SUM_RUNS"]


# How many vectors are looked at before, one of how many at the most, and of how many one that has more than three runs
# is many. Fibres of 4.2 entries, of whose vectors 0.19 have, took 1.15 of the time of one by one; a circuit, with 0.02,
# takes 0.75 of it (AMD, family 25).
_SAMPLES, _APART, _MANY_OF = 32, 16, 10


@dataclass(frozen=True, slots=True)
class _Runs:
    """A loop that adds to an element for each entry.

    Args:
        row: the loop.
        coordinates: the loads of what says which element: the first coordinates of the list, in the element's order.
        element: the element.
    """

    row: LaneRow
    coordinates: tuple[MemoryAccess, ...]
    element: Accumulate


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields loops over entries in order, of which several have a coordinate, that store an element for each."""
    for loop in nest.innermost_loops if nest.facts.runs is not None else ():
        entries = loop.step == 1 and loop.is_over_entries and not build.is_kept_rolled(loop.op)
        if entries and not loop.results and access_of(loop.body[-1]) is not None:
            yield loop


def _applies(loop: ForLoop, nest: Nest) -> _Runs | Missed:
    accesses = [access for op in loop.body if (access := access_of(op)) is not None]
    *loads, store = accesses
    if store.value is None or store.op != loop.body[-1] or any(load.value is not None for load in loads):
        return Missed("it stores more than one element for each entry")
    if not element_bits(store.value.type):
        return Missed(f"it adds up {type_name(store.value.type)}, which vectors do not hold")
    coordinates, element = _coordinates_of(store, loop), Accumulate.of(store, loads)
    if not coordinates or element is None:
        return Missed("its coordinates do not say by themselves which elements are added to")
    if not _are_in_order([coordinate.buffer for coordinate in coordinates], nest):
        return Missed("entries of one coordinate do not follow each other")
    if any(may_alias(load.buffer, store.buffer) for load in loads if load != element.load):
        return Missed("where the result lies is not known to be apart from what is read")
    total = element.load.loaded
    accumulated = accumulation_of(total, total, store.value)
    if accumulated is None:
        return Missed("it accumulates by no operation whose order is free")
    numbers = [op for at in store.at for op in _widenings_of(at)]
    unused = [op for op in loop.body if is_pure(op) and not any(list(result.uses) for result in op.results)]
    besides = (*(coordinate.op for coordinate in coordinates), *numbers, *unused, element.load.op, store.op)
    row = lane_row(loop, accumulated, total.type, besides)
    return row if isinstance(row, Missed) else _Runs(row, coordinates, element)


def _coordinates_of(store: MemoryAccess, loop: ForLoop) -> tuple[MemoryAccess, ...]:
    """Returns the loads of an entry's coordinates that say where it is stored; none where something else does."""
    loads = [position_load(at) for at in store.at]
    found = tuple(load for load in loads if load is not None and load.at == (loop.index,))
    return found if len(found) == len(loads) else ()


def _are_in_order(coordinates: Sequence[ir.Value], nest: Nest) -> bool:
    """Returns whether coordinates are the first ones of a list that the plan knows to be in order.

    The coordinates of an entry lie side by side.
    """
    assert nest.facts.runs is not None
    first = nest.arguments[nest.facts.runs]
    offsets = [ir.MemRefType(one.type).get_strides_and_offset()[1] for one in coordinates]
    return all(root_of(one) == first for one in coordinates) and sorted(offsets) == list(range(len(offsets)))


def _widenings_of(value: ir.Value) -> Sequence[ir.Operation]:
    op = maker(value)
    return [op, *_widenings_of(op.operands[0])] if op is not None and is_widening(op) else []


def _rewrite(runs: _Runs, nest: Nest) -> None:
    """Writes a loop over whole vectors of entries before a loop, which is left for the rest."""
    loop, distance = runs.row.loop, PrefetchDistances.of(nest.options).far
    lower, upper = loop.bounds
    with ir.InsertionPoint(loop.op):
        end = whole_end(lower, upper, LANES)
        build.branch(build.compare("ult", lower, end), lambda: _Vectors(runs, distance).write(lower, end))
    loop.set_lower(end)


class _Vectors:
    """The loop over whole vectors, which carries a run, what its entries add up to, and whether there are any.

    Args:
        runs: the loop over entries.
        distance: how many entries ahead are asked for.
    """

    def __init__(self, runs: _Runs, distance: int) -> None:
        self.runs = runs
        self.row = runs.row
        self.distance = distance
        self.coordinates = [one.buffer for one in runs.coordinates]

    def write(self, lower: ir.Value, end: ir.Value) -> None:
        """Writes it for one vector at least, and what the last run adds."""
        short = self._are_short(lower, end)
        start = [_truth(False), *self.run_at(lower), *nothing_in_lanes(self.row)]

        def vector(first: ir.Value, *carried: ir.Value) -> list[ir.Value]:
            return self._vector(first, short, *carried)

        some, *reached = build.loop(end, start, vector, lower, LANES)
        run, totals = self._parts(reached)
        build.branch(some, lambda: self._add(run, totals))

    def _are_short(self, lower: ir.Value, end: ir.Value) -> ir.Value:
        """Writes whether many vectors, by a sample of them, have so many runs that each entry is added by itself."""
        size = build.subtract(end, lower)
        apart = build.operation("arith.divui", size.type, size, build.constant(_SAMPLES * LANES))
        apart = build.operation("arith.maxui", size.type, apart, build.constant(_APART))
        step = build.multiply(apart, build.constant(LANES))
        word = build.word_type()

        def vector(first: ir.Value, taken: ir.Value, found: ir.Value) -> list[ir.Value]:
            run = self.run_at(build.subtract(first, build.constant(1)))
            cut = _Cut(self, first, run, self._last_of(first))
            several = build.select(cut.is_of_three, none, one)
            return [build.add(taken, one), build.add(found, several)]

        none, one = build.integer(0, word), build.integer(1, word)
        behind = build.add(lower, build.constant(LANES))  # the run so far is that of the entry before
        taken, found = build.loop(end, [none, none], vector, behind, step)
        return build.compare("ugt", build.multiply(found, build.integer(_MANY_OF, word)), taken)

    def _vector(self, first: ir.Value, short: ir.Value, some: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        # Coordinates of several levels may lie side by side: one request is for all.
        asked = {root_of(buffer) or buffer: buffer for buffer in (*self.coordinates, *self.row.streams)}
        for buffer in asked.values():
            prefetch(buffer, [build.add(first, build.constant(self.distance))])
        run, totals = self._parts(carried)
        last = self._last_of(first)
        kinds = [some.type, *(value.type for value in carried)]

        def several() -> list[ir.Value]:
            # An element that nothing is added to would be waited for all the same.
            build.branch(some, lambda: self._add(run, totals))
            build.loop(build.constant(LANES), (), lambda number: self._entry(build.add(first, number)))
            return [_truth(False), *last, *nothing_in_lanes(self.row)]

        def other() -> list[ir.Value]:
            cut = _Cut(self, first, run, last)
            return build.branch(cut.is_of_three, lambda: self._three(first, run, totals, last, cut), several, kinds)

        return build.branch(
            _same(run, last),
            lambda: [_truth(True), *run, *self._joined(totals, terms_of(self.row, first))],
            lambda: build.branch(short, several, other, kinds),
            kinds,
        )

    def _three(
        self, first: ir.Value, run: list[ir.Value], totals: list[ir.Value], last: list[ir.Value], cut: _Cut
    ) -> list[ir.Value]:
        """Writes what is done where the run ends in a vector, or before it, and the last begins behind one other."""
        terms, nothing = terms_of(self.row, first), nothing_in_lanes(self.row)
        mine, before = first_lanes(self.row, cut.begin), first_lanes(self.row, cut.end)
        self._add(run, self._joined(totals, _chosen(mine, terms, nothing)))
        # Where there is none between them, the last one is added nothing to: to ask would be to guess.
        self._add(cut.between, _chosen(mine, nothing, _chosen(before, terms, nothing)))
        return [_truth(True), *last, *_chosen(before, nothing, terms)]

    def _last_of(self, first: ir.Value) -> list[ir.Value]:
        return self.run_at(build.add(first, build.constant(LANES - 1)))

    def _entry(self, here: ir.Value) -> None:
        loop = self.row.loop
        copy_body(loop.op, {loop.index: here})

    def run_at(self, place: ir.Value) -> list[ir.Value]:
        """Writes the coordinates of an entry that say which run it is of."""
        return [build.load(one, place) for one in self.coordinates]

    def _parts(self, carried: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        number = len(self.coordinates)
        return list(carried[:number]), list(carried[number:])

    def _joined(self, totals: Sequence[ir.Value], terms: Sequence[ir.Value]) -> list[ir.Value]:
        return [self.row.accumulated.joined(*parts) for parts in zip(totals, terms, strict=True)]

    def _add(self, run: Sequence[ir.Value], totals: Sequence[ir.Value]) -> None:
        """Writes what is done at the end of a run: its element is read and written once."""
        accumulated, buffer = self.row.accumulated, self.runs.element.load.buffer
        at = list(map(build.widened, run))
        lanes = reduce(accumulated.joined, totals)
        build.store(accumulated.after(build.load(buffer, *at), lanes), buffer, *at)


def _chosen(masks: Sequence[ir.Value], left: Sequence[ir.Value], right: Sequence[ir.Value]) -> list[ir.Value]:
    return [build.select(*parts) for parts in zip(masks, left, right, strict=True)]


def _not(truth: ir.Value) -> ir.Value:
    return build.bits_of("xori", truth, _truth(True))


def _truth(value: bool) -> ir.Value:
    return build.integer(int(value), ir.IntegerType.get_signless(1))


class _Cut:
    """Where a vector is cut by runs: its entries of the run so far, those of the last one, and what is between.

    Args:
        vectors: the loop.
        first: the first entry of the vector.
        run: the run so far, which the last entry is not of.
        last: the run of the last entry.
    """

    def __init__(self, vectors: _Vectors, first: ir.Value, run: list[ir.Value], last: list[ir.Value]) -> None:
        self.begin = self._count(vectors, first, lambda here: _same(here, run))
        self.end = self._count(vectors, first, lambda here: _not(_same(here, last)))
        self.between = vectors.run_at(build.add(first, self.begin))
        is_any = build.compare("ult", self.begin, self.end)
        within = build.select(is_any, build.subtract(self.end, build.constant(1)), self.end)
        self.is_of_three = _same(self.between, vectors.run_at(build.add(first, within)))

    @staticmethod
    def _count(vectors: _Vectors, first: ir.Value, holds: Callable[[list[ir.Value]], ir.Value]) -> ir.Value:
        """Writes for how many entries at the begin something holds that does not for the last one."""
        count = build.constant(0)
        for half in (LANES >> power for power in range(1, LANES.bit_length())):
            here = vectors.run_at(build.add(build.add(first, count), build.constant(half - 1)))
            further = build.add(count, build.constant(half))
            count = build.select(holds(here), further, count)
        return count


def _same(run: Sequence[ir.Value], other: Sequence[ir.Value]) -> ir.Value:
    return build.conjunction([build.compare("eq", *pair) for pair in zip(run, other, strict=True)])


SUM_RUNS = Strategy("sum-runs", _candidates, _applies, _rewrite)
"""Writes a loop over vectors of entries before each that adds entries to elements one by one."""
