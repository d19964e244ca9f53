"""Sums over lines for several stored entries at once: what they have in common is loaded once, and folded together.

At each entry of a row, `S(i,j) * X(i,k) * Y(j,k)` sums up a row of X times one of Y. Four entries side by side read
the row of X once, have a vector each to add to, so that none waits for its own sum, and are brought from vectors to
numbers by a third of the operations that each would take alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import Accumulation
from mlir_sparse.loops.effects import MemoryAccess, access_of, is_contiguous, loads_in, may_alias, only_reads
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.emit_prefetch import is_larger, prefetch
from mlir_sparse.loops.emit_strips import masked_rest, whole_end
from mlir_sparse.loops.emit_vectors import broadcast, slice_of
from mlir_sparse.loops.inner_loops import Line, line_of_copy
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.model_accesses import StreamAccess, coordinate_load
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import maker, outermost
from mlir_sparse.loops.vector_bodies import Tile
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.inner_sums import InnerSum, sum_of, summed_lines

__all__ = ["SEVERAL_ENTRIES"]

# Takes the sums of a group of entries, and returns a vector of what they are.
_Totals = Callable[[Sequence[InnerSum]], ir.Value]

_ENTRIES = 4
_LINE = 512  # bits that caches hold together


@dataclass(frozen=True, slots=True)
class _EntrySums:
    """A loop over entries that stores a sum at each.

    Args:
        loop: the loop.
        before: what it does before the sum.
        line: the sum.
        accumulated: how it is added up.
        after: what it does with it, a store the last.
    """

    loop: ForLoop
    before: tuple[ir.Operation, ...]
    line: Line
    accumulated: Accumulation
    after: tuple[ir.Operation, ...]

    @property
    def store(self) -> MemoryAccess:
        """Returns where the sum of an entry is stored."""
        store = access_of(self.after[-1])
        assert store is not None
        return store

    @property
    def is_stored_alone(self) -> bool:
        """Returns whether nothing is done with sums but to store them side by side, as they are."""
        store, (result,) = self.store, self.line.loop.results
        alone = len(self.after) == 1 and store.value == result and store.at == (self.loop.index,)
        return alone and is_contiguous(store.buffer)


def _candidates(nest: Nest) -> Iterator[Line]:
    for line in summed_lines(nest):
        found = sum_of(line, nest)
        if isinstance(found, InnerSum) and found.accumulated.is_sum:
            yield line


def _applies(line: Line, nest: Nest) -> _EntrySums | Missed:
    """Returns the loop around a sum as one over entries, each with a sum of its own, or why it is none."""
    target = Target.of(nest.options)
    lanes = target.lanes_of(line.bits)
    if not target.masks_loads(line.narrowest) or lanes < _ENTRIES or lanes % _ENTRIES:
        return Missed(f"the vectors of this machine have no masks, or not {_ENTRIES} lanes")
    loop = loop_of(line.loop.around)
    if not isinstance(loop, ForLoop) or loop.results or loop.step != 1:
        return Missed("the loop around it is none over entries, or carries a value itself")
    body = tuple(loop.body)
    place = body.index(line.op)
    before, after = body[:place], body[place + 1 :]
    store = access_of(after[-1]) if after else None
    if store is None or store.value is None or len(line.loop.results) != 1:
        return Missed("its sum is not stored at the end of each iteration of the loop around")
    if StreamAccess.of(store.op, loop) is None:
        return Missed("sums are not stored side by side: the result is not one element at each entry")
    around = (*before, *after[:-1])
    apart = not any(may_alias(store.buffer, other.buffer) for other in (*line.loads, *loads_in(around)))
    inside = any(maker(value) in before for value in line.op.operands if maker(value) is not None)
    if not apart or not all(map(only_reads, around)) or inside:
        return Missed("the loop around it does more than to compute and store a sum")
    found = sum_of(line, nest)
    assert isinstance(found, InnerSum)
    return _EntrySums(loop, before, line, found.accumulated, after)


class _Several:
    """Writes the loop over groups."""

    def __init__(self, entries: _EntrySums, target: Target) -> None:
        self.entries = entries
        self.target = target
        # Rows are asked for by the lines of caches, so that no vectors are less.
        self.lanes = max(target.lanes_of(entries.line.bits), _LINE // entries.line.bits)

    def run(self) -> None:
        """Puts it before the loop over entries, which begins behind the last whole group.

        Where a line is one vector it is no loop, and no entry is left: `S(i,j) * X(i,k) * Y(j,k)` with a line of 8
        took 1.6 times as long as where a compiler knows that it is 8.
        """
        loop, line = self.entries.loop, self.entries.line.loop
        lower, upper = loop.bounds
        with ir.InsertionPoint(loop.op):
            end = whole_end(lower, upper, _ENTRIES)
            far = self._reaches_far()

            def vectors() -> list[ir.Value]:
                if far is None:
                    several(asks=False)
                else:
                    build.branch(far, lambda: several(asks=True), lambda: several(asks=False))
                build.loop(upper, (), self._vector, end)
                return [upper]

            def several(*, asks: bool) -> None:
                self._loop(end, lower, partial(self._vectors, asks=asks))

            def lines() -> list[ir.Value]:
                self._ask_for_rows()
                self._loop(end, lower, self._totals)
                return [end]

            width = build.subtract(line.upper, line.lower)
            is_one = build.compare("eq", width, build.constant(self.lanes))
            (reached,) = build.branch(is_one, vectors, lines, [end.type])
        loop.set_lower(reached)

    def _loop(self, end: ir.Value, lower: ir.Value, totals: _Totals) -> None:
        build.loop(end, (), lambda start: self._group(start, totals), lower, _ENTRIES, like=self.entries.loop.op)

    def _reaches_far(self) -> ir.Value | None:
        """Writes, before all loops, whether rows of later entries are to be asked for: caches do not hold the arrays.

        Near ones take a third longer so, for a row of one vector. None where none are asked for.
        """
        distances = self.target.distances
        named = [load.buffer for load in self.entries.line.streams if any(map(coordinate_load, load.at[:-1]))]
        if not named or not distances.rows:
            return None
        with ir.InsertionPoint(outermost(self.entries.loop.op, *named)):
            return reduce(partial(build.bits_of, "ori"), [is_larger(buffer, distances.local) for buffer in named])

    def _ask_for_rows(self) -> None:
        """Asks for the lines of a later row of the result, where they follow from its number."""
        around, line = loop_of(self.entries.loop.around), self.entries.line
        if not isinstance(around, ForLoop) or not self.target.distances.results:
            return
        buffers = list(dict.fromkeys(load.buffer for load in line.streams if load.at[:-1] == (around.index,)))
        if not buffers:
            return
        later = build.add(around.index, build.constant(self.target.distances.results))

        def body(at: ir.Value) -> None:
            for buffer in buffers:
                prefetch(buffer, [later, at])

        build.loop(line.loop.upper, (), body, line.loop.lower, self.lanes)

    def _group(self, start: ir.Value, totals: _Totals) -> None:
        """Writes what is done for a group of entries."""
        known = [self._known(start, number) for number in range(_ENTRIES)]
        sums = [self._sum(each) for each in known]
        made = totals(sums)
        (first,), (result,) = self.entries.line.loop.starts, self.entries.line.loop.results
        made = build.add(broadcast(first, _ENTRIES), made)
        for sum_ in sums:
            sum_.line.op.erase()
        if self.entries.is_stored_alone:
            ir.Operation.create("vector.store", operands=[made, self.entries.store.buffer, start])
            return
        for number, each in enumerate(known):
            place = ir.DenseI64ArrayAttr.get([number])
            each[result] = build.operation("vector.extract", first.type, made, static_position=place)
        for op in self.entries.after:
            for each in known:
                copy_of(op, each)

    def _vector(self, start: ir.Value) -> None:
        """Writes what is done for one entry whose line is one vector."""
        known = self._known(start, 0)
        sum_ = self._sum(known)
        (first,), (result,) = self.entries.line.loop.starts, self.entries.line.loop.results
        known[result] = build.add(first, self.entries.accumulated.of_lanes(self._one(sum_, asks=False)))
        sum_.line.op.erase()
        for op in self.entries.after:
            copy_of(op, known)

    def _sum(self, known: dict[ir.Value, ir.Value]) -> InnerSum:
        line = line_of_copy(copy_of(self.entries.line.op, known))
        return InnerSum(line, self.target, 0, self.entries.accumulated)

    def _one(self, sum_: InnerSum, *, asks: bool) -> ir.Value:
        """Writes the sums of a line that is one vector."""
        distance = self.target.distances.summed_rows if asks else 0
        tile = Tile(sum_.line.loop.lower, self.lanes, None, self.target.fuses, distance)
        return sum_.iteration(tile, sum_.nothing(self.lanes, sum_.line.loop.results[0].type))

    def _vectors(self, sums: Sequence[InnerSum], *, asks: bool) -> ir.Value:
        """Writes the sums of lines that are one vector each; returns a vector of them."""
        return _folded([self._one(each, asks=asks) for each in sums])

    def _known(self, start: ir.Value, number: int) -> dict[ir.Value, ir.Value]:
        """Writes what is done before the sum of an entry; returns what its values are."""
        place = build.add(start, build.constant(number)) if number else start
        known: dict[ir.Value, ir.Value] = {self.entries.loop.index: place}
        for op in self.entries.before:
            copy_of(op, known)
        return known

    def _totals(self, sums: Sequence[InnerSum]) -> ir.Value:
        """Writes the loop over the line; returns a vector of the sums."""
        loop = self.entries.line.loop
        at, upper = loop.bounds
        accumulators = [sums[0].nothing(self.lanes, loop.results[0].type)] * _ENTRIES
        end = whole_end(at, upper, self.lanes)

        def body(place: ir.Value, *reached: ir.Value) -> list[ir.Value]:
            tile = Tile(place, self.lanes, None, self.target.fuses, self.target.distances.summed_rows)
            return [each.iteration(tile, so_far) for each, so_far in zip(sums, reached, strict=True)]

        accumulators = build.loop(end, accumulators, body, at, self.lanes)

        def some(mask: ir.Value) -> list[ir.Value]:
            tile = Tile(end, self.lanes, mask, self.target.fuses)
            return [each.iteration(tile, so_far) for each, so_far in zip(sums, accumulators, strict=True)]

        masked = partial(self.target.mask_of, bits=self.entries.line.bits)
        return _folded(masked_rest(end, upper, self.lanes, accumulators, some, masked))


def _folded(vectors: Sequence[ir.Value]) -> ir.Value:
    """Returns the sums of the elements of four vectors as one vector of four."""
    pairs = [_interleaved(*vectors[at : at + 2]) for at in (0, 2)]
    first, second = (_halved(pair) for pair in pairs)
    return build.add(_shuffled(first, second, [0, 1, 4, 5]), _shuffled(first, second, [2, 3, 6, 7]))


def _interleaved(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the sums of neighbours of two vectors, alternately."""
    lanes = ir.VectorType(left.type).shape[0]
    even = [place for lane in range(0, lanes, 2) for place in (lane, lanes + lane)]
    odd = [place + 1 for place in even]
    return build.add(_shuffled(left, right, even), _shuffled(left, right, odd))


def _halved(vector: ir.Value) -> ir.Value:
    """Returns the sum of the parts of a vector that have as many elements as there are sums."""
    while (lanes := ir.VectorType(vector.type).shape[0]) > _ENTRIES:
        parts = [slice_of(vector, offset, lanes // 2) for offset in (0, lanes // 2)]
        vector = build.add(*parts)
    return vector


def _shuffled(left: ir.Value, right: ir.Value, places: Sequence[int]) -> ir.Value:
    kind = ir.VectorType.get([len(places)], ir.VectorType(left.type).element_type)
    return build.operation("vector.shuffle", kind, left, right, mask=ir.DenseI64ArrayAttr.get(list(places)))


SEVERAL_ENTRIES = Strategy(
    "several-entries",
    _candidates,
    _applies,
    lambda entries, nest: _Several(entries, Target.of(nest.options)).run(),
)
"""Writes a loop over groups of entries before the one around a sum, which keeps the entries that are left."""
