"""Slots of rows side by side: a vector of rows at once, and a block of rows for all slots before the next block.

ELL stores the first slot of all rows, then the second one: loops over slots come to each element of the result once a
slot, and go through it as often as there are slots. Here a block of rows stays in a cache until all of its slots are
added up. Rows that follow each other have values and coordinates that do so, too: vectors hold them, and a mask says
which slots are taken. Each element takes its summands in the order in which the loops before added them. On an Intel
Xeon with AVX-512, SpMV of 1 and of 10 M entries took 0.64 and 0.81 of the time before on a 5-point grid, 0.73 and 0.81
on finite elements, 0.83 and 0.98 on uniform rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.complex_lanes import elements_at
from mlir_sparse.loops.effects import (
    MemoryAccess,
    access_of,
    computes_lanes,
    counts,
    fits_lanes,
    is_contiguous,
    is_pure,
    may_alias,
    only_reads,
)
from mlir_sparse.loops.emit_copies import move_here, rewritten
from mlir_sparse.loops.emit_prefetch import PrefetchDistances, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks
from mlir_sparse.loops.emit_vectors import broadcast, splat_number
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.model_accesses import Gather
from mlir_sparse.loops.model_branches import Branch, IntegerComparison
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import is_constant, is_inside, is_shifted, is_widening, maker, stored_load
from mlir_sparse.loops.vector_bodies import VectorValues
from mlir_sparse.program.loop_form import LoopForm

__all__ = ["SLOT_ROWS"]

# Rows at once, and in a block: 256 KB of a result in f64. Blocks that the first cache holds, of 512 rows, took up to
# 1.5 of the time of all rows at once: each slot of a block begins at a page of its own.
_LANES, _BLOCK = 8, 1 << 15


@dataclass(frozen=True, slots=True)
class _SlotRows:
    """A loop over slots, and in it one over rows that adds what the slot of each holds.

    Args:
        slots: the loop over slots.
        rows: the loop over rows.
        element: the load of the element that is added to.
        store: where the sum is stored.
        branch: what is done for a slot that is taken.
        coordinate: the load of the coordinate of a slot.
        gathers: the loads of elements that the coordinate names.
        streams: the other loads, of what rows have side by side.
        varying: the values that differ from row to row, but for places in memory.
    """

    slots: ForLoop
    rows: ForLoop
    element: MemoryAccess
    store: MemoryAccess
    branch: Branch
    coordinate: MemoryAccess
    gathers: tuple[MemoryAccess, ...]
    streams: tuple[MemoryAccess, ...]
    varying: frozenset[ir.Value]


def _candidates(nest: Nest) -> Iterator[ForLoop]:
    """Yields loops over rows, right inside of one over slots, that read what a slot holds where it is taken."""
    for loop in nest.for_loops if nest.facts.slots else ():
        around = loop_of(loop.around)
        if isinstance(around, ForLoop) and _is_over_level(loop) and _is_over_level(around):
            inside = [op for op in around.body if op != loop.op]
            alone = all(map(is_pure, inside)) and not any(is_inside(value, around.op) for value in loop.bounds)
            if alone and [op.name for op in loop.body].count("scf.if") == 1:
                yield loop


def _is_over_level(loop: ForLoop) -> bool:
    return not loop.results and loop.form is LoopForm.DENSE


def _applies(loop: ForLoop, nest: Nest) -> _SlotRows | Missed:
    if nest.options.get("every") != "true":
        return Missed("vectors here have no masks, or lanes were asked for")
    (branch,) = [found for op in loop.body if (found := Branch.of(op)) is not None]
    *body, last = [op for op in loop.body if op != branch.op]
    store = access_of(last)
    loads = [access for op in body if (access := access_of(op)) is not None]
    if store is None or store.value is None or list(branch.results) != [store.value] or store.at != (loop.index,):
        return Missed("it does more with a row than to add up what its slot holds")
    own = [load for load in loads if load.address == store.address]
    taken = IntegerComparison.of(maker(branch.condition), "sge")
    tested = None if taken is None else stored_load(taken.op.operands[0])
    otherwise = branch.otherwise
    if len(own) != 1 or taken is None or tested is None or otherwise is None or not is_constant(taken.right, 0):
        return Missed("no coordinate says whether a slot is taken")
    if otherwise.body or otherwise.ends != [own[0].loaded] or not all(map(only_reads, (*body, *branch.then.body))):
        return Missed("it does something for slots that are not taken")
    coordinate = access_of(tested)
    assert coordinate is not None  # of a load
    return _Reader(loop, coordinate, own[0]).rows(store, branch, [*body, *branch.then.body])


class _Reader:
    """Sorts what a loop over rows computes by how it differs from row to row.

    Args:
        loop: the loop.
        coordinate: the load of the coordinate of a slot.
        element: the load of the element that is added to.
    """

    def __init__(self, loop: ForLoop, coordinate: MemoryAccess, element: MemoryAccess) -> None:
        self.loop = loop
        self.coordinate = coordinate
        self.element = element
        self.gathers: list[MemoryAccess] = []
        self.streams: list[MemoryAccess] = []
        self.varying: set[ir.Value] = set()
        # Places in memory: of the row by its number, and as its coordinate says.
        self.places: set[ir.Value] = {loop.index}
        self.named: set[ir.Value] = set()

    def rows(self, store: MemoryAccess, branch: Branch, body: Iterable[ir.Operation]) -> _SlotRows | Missed:
        """Returns the loop as one over rows of slots, or why vectors do not do what it does."""
        for op in body:
            if why := self._why_not(op, store.buffer):
                return Missed(why)
        slots = loop_of(self.loop.around)
        assert isinstance(slots, ForLoop)  # it is a candidate
        loads, varying = (tuple(self.gathers), tuple(self.streams)), frozenset(self.varying)
        return _SlotRows(slots, self.loop, self.element, store, branch, self.coordinate, *loads, varying)

    def _why_not(self, op: ir.Operation, written: ir.Value) -> str:
        """Returns why vectors do not do what an operation does; "" where they do."""
        if access := access_of(op):
            return self._why_not_loaded(access, written)
        (result,) = op.results
        operands = set(op.operands)
        if operands & self.named or (operands == {self.coordinate.loaded} and is_widening(op)):
            self.named.add(result)
            return "" if is_widening(op) else "it computes with coordinates"
        if operands & self.places and not operands & self.varying:
            self.places.add(result)
            return "" if counts(op) else "it computes with the numbers of rows"
        if not operands & self.varying:
            return ""  # the same for all rows
        self.varying.add(result)
        if operands & self.places or not computes_lanes(op) or not fits_lanes(result.type):
            return f"vectors of rows have no {op.name} of {type_name(result.type)}"
        return ""

    def _why_not_loaded(self, load: MemoryAccess, written: ir.Value) -> str:
        self.varying.add(load.loaded)
        is_element, is_coordinate = load.op == self.element.op, load.op == self.coordinate.op
        if not is_contiguous(load.buffer) or not (is_coordinate or fits_lanes(load.loaded.type)):
            return "its rows do not lie side by side in memory, or vectors do not hold their elements"
        if not is_element and may_alias(load.buffer, written):
            return "where the result lies is not known to be apart from what is read"
        if is_shifted(load.at[0], self.loop.index):
            self.streams.append(load)
            return ""
        gather = Gather.of(load.op)
        if gather is None or gather.coordinate.op != self.coordinate.op:
            return "it looks up elements by other than the coordinate of its slot"
        self.gathers.append(load)
        return ""


def _rewrite(rows: _SlotRows, nest: Nest) -> None:
    """Writes the loops for a block of rows after the other."""
    distance = PrefetchDistances.of(nest.options).far
    lower, upper = rows.rows.bounds

    def block(first: ir.Value) -> None:
        end = build.minimum(build.add(first, build.constant(_BLOCK)), upper)
        move_here([rows.slots.op])
        rows.rows.set_limits([first, end])

    with ir.InsertionPoint(rows.slots.op):
        build.loop(upper, (), block, lower, _BLOCK, like=rows.slots.op)
    loop_over_chunks(rows.rows, _LANES, lambda first: _vector(rows, first, distance))
    build.keep_rolled(rows.rows.op, scalar=True)


def _vector(rows: _SlotRows, first: ir.Value, distance: int) -> None:
    """Writes what is done for a vector of rows."""
    values = _Rows(rows, first)
    for stream in rows.streams:
        if stream.op != rows.element.op:
            prefetch(stream.buffer, [build.add(values.place(stream.at[0]), build.constant(distance))])
    kind = ir.VectorType.get([_LANES], rows.element.loaded.type)
    truth, all_of = ir.IntegerType.get_signless(1), ir.Attribute.parse("#vector.kind<and>")
    every = build.operation("vector.reduction", truth, values.taken, kind=all_of)
    (made,) = build.branch(
        every, lambda: [_Rows(rows, first, whole=True).total], lambda: [_Rows(rows, first).total], [kind]
    )
    ir.Operation.create("vector.store", operands=[made, rows.store.buffer, first])


class _Rows(VectorValues):
    """The values of some rows that follow each other.

    Args:
        rows: the loops.
        first: the first of the rows.
        whole: whether all of their slots are taken.
    """

    def __init__(self, rows: _SlotRows, first: ir.Value, *, whole: bool = False) -> None:
        super().__init__(_LANES, rows.varying, {})
        self.rows = rows
        self.whole = whole
        self.places = {rows.rows.index: first}
        self.gathers = {load.op for load in rows.gathers}
        self.taken = self.of(rows.branch.condition)

    @property
    def total(self) -> ir.Value:
        """Returns the sums of the rows."""
        (total,) = self.rows.branch.then.ends
        made = self.of(total)
        return made if self.whole else build.select(self.taken, made, self.of(self.rows.element.loaded))

    def place(self, value: ir.Value) -> ir.Value:
        """Returns a place in memory for the first row, or another value that is the same for all."""
        if value not in self.places:
            op = maker(value)
            if op is None or not is_inside(value, self.rows.rows.op):
                return value
            self.places[value] = rewritten(op, [self.place(operand) for operand in op.operands])
        return self.places[value]

    def _same(self, value: ir.Value) -> ir.Value:
        return broadcast(self.place(value), self.lanes)

    def computed(self, op: ir.Operation) -> ir.Value:
        """Writes an operation for all rows; loads what it loads."""
        load = access_of(op)
        if load is None:
            return super().computed(op)
        kind = ir.VectorType.get([self.lanes], load.loaded.type)
        if op not in self.gathers:
            return build.operation("vector.load", kind, load.buffer, self.place(load.at[0]))
        if self.whole:
            (coordinate,) = self.rows.coordinate.at
            begin, buffer = self.place(coordinate), self.rows.coordinate.buffer
            at = [build.add(begin, build.constant(lane)) if lane else begin for lane in range(self.lanes)]
            return elements_at(load.buffer, [(build.widened(build.load(buffer, place)),) for place in at])
        words = self._words(self.of(self.rows.coordinate.loaded))
        return build.operation(
            *("vector.gather", kind, load.buffer, build.constant(0), words, self.taken, splat_number(kind, 0))
        )

    def _words(self, coordinates: ir.Value) -> ir.Value:
        kind, element = ir.VectorType.get([self.lanes], build.word_type()), ir.VectorType(coordinates.type).element_type
        is_wide = isinstance(element, ir.IndexType) or coordinates.type == kind
        return coordinates if is_wide else build.operation("arith.extui", kind, coordinates)


SLOT_ROWS = Strategy("slot-rows", _candidates, _applies, _rewrite)
"""Writes loops over blocks and vectors of rows in place of those over slots and all rows.

Option `every`: whether at all, which vectors of eight elements with masks decide.
"""
