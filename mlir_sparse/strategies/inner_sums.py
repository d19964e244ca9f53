"""Sums over lines, and other accumulations: several at once in the lanes of vectors, joined at the end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.accumulations import Accumulation, accumulation_of
from mlir_sparse.loops.emit_copies import replace
from mlir_sparse.loops.emit_strips import masked_rest, whole_end
from mlir_sparse.loops.emit_vectors import slice_of
from mlir_sparse.loops.inner_loops import Line, line_of_copy
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.operation_index import Nest
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.strategy import Strategy
from mlir_sparse.loops.value_origins import constant_of, made_by, result_maker
from mlir_sparse.loops.vector_bodies import Lanes, Tile
from mlir_sparse.loops.vector_options import Target

__all__ = ["INNER_SUMS", "InnerSum", "sum_of", "summed_lines"]

# Vectors that summands are added to alternately: a sum is free for the next one after as many cycles.
_ACCUMULATORS = 4
# What a dense extent is read from; a loop over stored entries runs between positions, and is short as a rule.
_EXTENTS = frozenset(("memref.dim", "arith.index_cast", "arith.constant"))


def summed_lines(nest: Nest) -> Iterator[Line]:
    """Yields the lines over dense levels, or the entries of all rows, that carry values."""
    for loop, line in nest.lines:
        if isinstance(line, Line) and loop.results and (loop.is_over_level or loop.is_whole):
            yield line


def sum_of(line: Line, nest: Nest) -> InnerSum | Missed:
    """Returns a line as one that adds up elements of dense rows, as many as a vector has at least, or why it is none.

    Args:
        line: a line over a dense level that carries values.
        nest: the nest that it is in.
    """
    target = Target.of(nest.options)
    lanes, found = target.lanes_of(line.bits), _sum_in(line)
    why = "vectors have one lane" if lanes < 2 else _why_not_dense(line, lanes)
    if line.lanes_each > 1:
        why = f"its sum is of {type_name(line.loop.results[0].type)}, which vectors do not hold"
    if found is None:
        why = "it carries more than one sum of elements"
    return Missed(why) if why or found is None else InnerSum(line, target, *found)


def _why_not_dense(line: Line, lanes: int) -> str:
    if line.stores or not line.streams:
        return "it stores elements besides its sum, or reads none"
    if not line.loop.is_whole and made_by(line.loop.upper, *_EXTENTS) is None:
        return "it runs over stored entries, not over a dense level"
    extent = constant_of(line.loop.upper)
    return f"its rows have fewer elements than a vector, {lanes}" if extent is not None and extent < lanes else ""


def _sum_in(line: Line) -> tuple[int, Accumulation] | None:
    """Returns which result is accumulated and how, where all others only say whether there was an iteration."""
    sums = []
    carried = zip(line.loop.carried, line.loop.starts, line.ends, strict=True)
    for at, (argument, start, end) in enumerate(carried):
        if end not in line.varying:
            if any(op.results[0] == end for op in line.body if op.results) or list(argument.uses):
                return None
            continue
        accumulated = accumulation_of(argument, start, end)
        if accumulated is None or len(accumulated.operations) != 1 or len(list(end.uses)) != 1:
            return None
        sums.append((at, accumulated))
    return sums[0] if len(sums) == 1 else None


class InnerSum:
    """Writes vector loops before a loop that accumulates, and the loop for what is left where vectors have no masks.

    Args:
        line: the loop.
        target: the vectors.
        at: which result is accumulated.
        accumulated: how.
    """

    def __init__(self, line: Line, target: Target, at: int, accumulated: Accumulation) -> None:
        self.line = line
        self.target = target
        self.place = at
        self.accumulated = accumulated
        self.lanes = target.lanes_of(line.bits)
        self.masks = target.masks_loads(line.narrowest)

    def run(self) -> None:
        """Puts them in place of the loop."""
        loop = self.line.loop
        around = loop_of(loop.around)
        while isinstance(around, ForLoop):
            # LLVM writes these once for each answer to whether a row has whole vectors, and a rest: that is enough.
            build.keep_rolled(around.op, scalar=True)
            around = loop_of(around.around)
        at, upper = loop.bounds
        first = loop.starts[self.place]
        wide = self.lanes * _ACCUMULATORS
        with ir.InsertionPoint(loop.op):
            ends = [whole_end(at, upper, size) for size in (wide, self.lanes)]
            accumulator = self._loop(at, ends[0], wide, self.nothing(wide, first.type))
            accumulator = self._loop(ends[0], ends[1], self.lanes, self._folded(accumulator))
            if self.masks:
                accumulator = self._masked(ends[1], upper, accumulator)
            total = self.accumulated.joined(first, self.accumulated.of_lanes(accumulator))
            values = self._after(total)
            if not self.masks:
                loop.set_lower(ends[1])
                for place, value in enumerate(values):
                    loop.set_start(place, value)
                return
            replace(loop.op, values)

    def _loop(self, lower: ir.Value, upper: ir.Value, size: int, accumulator: ir.Value) -> ir.Value:
        def body(start: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            # A sum has its registers for little else: rows are asked for at each of its iterations.
            distance = self.target.prefetch_distance(2 * size, self.line.bits, summed=True)
            return [self.iteration(Tile(start, size, None, self.target.fuses, distance), so_far)]

        total = build.loop(upper, [accumulator], body, lower, size)[0]
        if self.line.loop.is_whole:
            ForLoop(result_maker(total)).mark_whole()
        if size == self.lanes:
            build.keep_rolled(result_maker(total))  # fewer iterations than there are accumulators
        return total

    def _masked(self, at: ir.Value, upper: ir.Value, accumulator: ir.Value) -> ir.Value:
        def some(mask: ir.Value) -> list[ir.Value]:
            return [self.iteration(Tile(at, self.lanes, mask, self.target.fuses), accumulator)]

        masked = partial(self.target.mask_of, bits=self.line.bits)
        return masked_rest(at, upper, self.lanes, [accumulator], some, masked)[0]

    def iteration(self, tile: Tile, accumulator: ir.Value) -> ir.Value:
        """Writes one iteration of the loop for the places of a tile; returns the sums after it."""
        line = line_of_copy(self.line.op.clone(ir.InsertionPoint.current))
        so_far, end = line.loop.carried[self.place], line.ends[self.place]
        made = Lanes(line, tile, {so_far: accumulator}, lambda _: line.op).of(end)
        line.op.erase()
        return made

    def nothing(self, size: int, element: ir.Type) -> ir.Value:
        """Returns what lanes have accumulated before the first element."""
        return self.accumulated.identity(ir.VectorType.get([size], element))

    def _folded(self, accumulator: ir.Value) -> ir.Value:
        """Returns the sums of a few vectors as one vector."""
        count = ir.VectorType(accumulator.type).shape[0] // self.lanes
        parts = [slice_of(accumulator, part * self.lanes, self.lanes) for part in range(count)]
        while len(parts) > 1:
            parts = [self.accumulated.joined(*parts[at : at + 2]) for at in range(0, len(parts), 2)]
        return parts[0]

    def _after(self, total: ir.Value) -> list[ir.Value]:
        """Returns the sum, and for all other results what they are once there was an iteration."""
        line = self.line
        ran = build.compare("ult", *line.loop.bounds)
        return [
            total if at == self.place else build.select(ran, end, start)
            for at, (start, end) in enumerate(zip(line.loop.starts, line.ends, strict=True))
        ]


INNER_SUMS = Strategy("inner-sums", summed_lines, sum_of, lambda total, _: total.run())
"""Adds up the elements of dense rows in lanes of vectors."""
