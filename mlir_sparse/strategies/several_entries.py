"""Sums over lines for several stored entries at once: what they have in common is loaded once, and folded together.

At each entry of a row, `S(i,j) * X(i,k) * Y(j,k)` sums up a row of X times one of Y. Four entries side by side read
the row of X once, have a vector each to add to, so that none waits for its own sum, and are brought from vectors to
numbers by a third of the operations that each would take alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import only_reads, root_of
from mlir_sparse.loops.emit_copies import copy_of
from mlir_sparse.loops.emit_prefetch import NEXT_RESULTS, NEXT_SUMMED_ROWS, prefetch
from mlir_sparse.loops.emit_strips import loop_over_chunks, masked_rest, whole_end
from mlir_sparse.loops.emit_vectors import slice_of
from mlir_sparse.loops.inner_loops import Line, line_of
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_constant, maker, parent_of
from mlir_sparse.loops.vector_bodies import Tile
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.strategies.inner_sums import InnerSum

__all__ = ["EntrySums", "add_up_several", "entries_around"]

_ENTRIES = 4


@dataclass(frozen=True, slots=True)
class EntrySums:
    """A loop over entries that stores a sum at each.

    Args:
        loop: the `scf.for`.
        before: what it does before the sum.
        line: the sum.
        after: what it does with it, a store the last.
    """

    loop: ir.Operation
    before: tuple[ir.Operation, ...]
    line: Line
    after: tuple[ir.Operation, ...]


def add_up_several(entries: EntrySums, target: Target) -> None:
    """Writes a loop over groups of entries before the one over entries around a sum, which keeps what is left.

    Args:
        entries: what `entries_around` returned.
        target: the vectors there are.
    """
    _Several(entries, target).run()


def entries_around(line: Line, target: Target) -> EntrySums | Missed:
    """Returns the loop around a sum as one over entries, each with a sum of its own, or why it is none.

    Args:
        line: a sum.
        target: the vectors there are.
    """
    lanes = target.lanes_of(line.bits)
    if not target.masks or lanes < _ENTRIES or lanes % _ENTRIES:
        return Missed(f"the vectors of this machine have no masks, or not {_ENTRIES} lanes")
    loop = parent_of(line.loop)
    if loop.name != "scf.for" or len(loop.results) or not is_constant(loop.operands[2], 1):
        return Missed("the loop around it is none over entries, or carries a value itself")
    *body, _ = operations_in(loop)
    place = body.index(line.loop)
    before, after = tuple(body[:place]), tuple(body[place + 1 :])
    if not after or after[-1].name != "memref.store" or len(line.loop.results) != 1:
        return Missed("its sum is not stored at the end of each turn of the loop around")
    _, buffer, *at = after[-1].operands
    around = (*before, *after[:-1])
    written, read = (
        root_of(buffer),
        [root_of(op.operands[0]) for op in (*around, *line.body) if op.name == "memref.load"],
    )
    apart = written is not None and all(root is not None and root != written for root in read)
    pure = all(map(only_reads, around))
    inside = any(maker(value) in before for value in line.loop.operands if maker(value) is not None)
    if at != [body_of(loop).arguments[0]]:
        return Missed("sums are not stored side by side: the result is not one element at each entry")
    if not (apart and pure) or inside:
        return Missed("the loop around it does more than to compute and store a sum")
    return EntrySums(loop, before, line, after)


class _Several:
    """Writes the loop over groups."""

    def __init__(self, entries: EntrySums, target: Target) -> None:
        self.entries = entries
        self.target = target
        self.lanes = target.lanes_of(entries.line.bits)

    def run(self) -> None:
        """Puts it before the loop over entries, which begins behind the last whole group."""
        loop = self.entries.loop
        with ir.InsertionPoint(loop):
            self._ask_for_rows()
        loop_over_chunks(ForLoop(loop), _ENTRIES, self._group)

    def _ask_for_rows(self) -> None:
        """Asks for the lines of a later row of the result, where they follow from its number."""
        around = parent_of(self.entries.loop)
        if around.name != "scf.for":
            return
        row, line = body_of(around).arguments[0], self.entries.line
        streams = [load for load in line.streams if len(load.operands) == 3 and load.operands[1] == row]
        if not streams:
            return
        lower, upper = line.bounds
        later = build.add(row, build.constant(NEXT_RESULTS))
        buffers = list(dict.fromkeys(load.operands[0] for load in streams))

        def body(at: ir.Value) -> None:
            for buffer in buffers:
                prefetch(buffer, [later, at])

        build.loop(upper, (), body, lower, self.lanes)

    def _group(self, start: ir.Value) -> None:
        """Writes what is done for a group of entries."""
        known = [self._known(start, number) for number in range(_ENTRIES)]
        copies = [copy_of(self.entries.line.loop, each) for each in known]
        sums = [InnerSum(_line(copy), self.target, 0) for copy in copies]
        totals = self._totals(sums)
        for number, each in enumerate(known):
            first = copies[number].operands[3]
            place = ir.DenseI64ArrayAttr.get([number])
            total = build.operation("vector.extract", first.type, totals, static_position=place)
            total = build.add(first, total)
            copies[number].erase()
            each[self.entries.line.loop.results[0]] = total
        for op in self.entries.after:
            for each in known:
                copy_of(op, each)

    def _known(self, start: ir.Value, number: int) -> dict[ir.Value, ir.Value]:
        """Writes what is done before the sum of an entry; returns what its values are."""
        place = build.add(start, build.constant(number)) if number else start
        known: dict[ir.Value, ir.Value] = {body_of(self.entries.loop).arguments[0]: place}
        for op in self.entries.before:
            copy_of(op, known)
        return known

    def _totals(self, sums: Sequence[InnerSum]) -> ir.Value:
        """Writes the loop over the line; returns a vector of the sums."""
        at, upper = self.entries.line.bounds
        held = [sums[0].zeros(self.lanes, self.entries.line.loop.results[0].type)] * _ENTRIES
        end = whole_end(at, upper, self.lanes)

        def body(place: ir.Value, *reached: ir.Value) -> list[ir.Value]:
            tile = Tile(place, self.lanes, None, self.target.fuses, NEXT_SUMMED_ROWS)
            return [each.turn(tile, so_far) for each, so_far in zip(sums, reached, strict=True)]

        held = build.loop(end, held, body, at, self.lanes)

        def some(mask: ir.Value) -> list[ir.Value]:
            tile = Tile(end, self.lanes, mask, self.target.fuses)
            return [each.turn(tile, so_far) for each, so_far in zip(sums, held, strict=True)]

        return _folded(masked_rest(end, upper, self.lanes, held, some))


def _line(loop: ir.Operation) -> Line:
    line = line_of(loop)
    assert isinstance(line, Line)
    return line


def _folded(vectors: Sequence[ir.Value]) -> ir.Value:
    """Returns the sums of the elements of four vectors as one vector of four."""
    pairs = [_interleaved(*vectors[at : at + 2]) for at in (0, 2)]
    first, second = (_halved(pair) for pair in pairs)
    return build.add(_shuffled(first, second, [0, 1, 4, 5]), _shuffled(first, second, [2, 3, 6, 7]))


def _interleaved(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the sums of neighbours of two vectors, by turns."""
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
