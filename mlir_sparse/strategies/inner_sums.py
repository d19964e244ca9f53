"""Sums over lines: several at once in the lanes of vectors, added up at the end."""

from __future__ import annotations

from mlir_sparse._mlir import ir
from mlir_sparse.loops import ir_words
from mlir_sparse.loops.inner_loops import Line, line_of
from mlir_sparse.loops.origins import is_constant, maker, parent_of, result_maker
from mlir_sparse.loops.regions import body_of
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.vector_bodies import Lanes, Tile, mask_of, splat_number, strided, sum_of_lanes
from mlir_sparse.loops.vector_options import Target

__all__ = ["InnerSum", "slice_of", "sum_of"]

# Vectors that summands are added to by turns: a sum is free for the next one after as many cycles.
_ACCUMULATORS = 4
_SUMS = frozenset(("arith.addf", "arith.addi"))
# What a dense extent is read from; a loop over stored entries runs between positions, and is short as a rule.
_EXTENTS = frozenset(("memref.dim", "arith.index_cast", "arith.constant"))


def sum_of(line: Line, target: Target) -> InnerSum | Missed:
    """Returns a loop as one that adds up elements of dense rows, as many as a vector has at least, or why it is none.

    Args:
        line: a line that has results.
        target: the vectors there are.
    """
    lanes, at = target.lanes_of(line.bits), _place_of_sum(line)
    why = "vectors have one lane" if lanes < 2 else _why_not_dense(line, lanes)
    if at is None:
        why = "it carries more than one sum of elements"
    return Missed(why) if why or at is None else InnerSum(line, target, at)


def _why_not_dense(line: Line, lanes: int) -> str:
    lower, upper = line.bounds
    made = maker(upper)
    if line.stores or not line.streams:
        return "it stores elements besides its sum, or reads none"
    if not is_constant(lower, 0) or made is None or made.name not in _EXTENTS:
        return "it runs over stored entries, not over a dense level"
    few = made.name == "arith.constant" and ir.IntegerAttr(made.attributes["value"]).value < lanes
    return f"its rows have fewer elements than a vector, {lanes}" if few else ""


def _place_of_sum(line: Line) -> int | None:
    """Returns which result is the sum, where all others only say whether there was a turn."""
    arguments, ends = _carried(line)
    sums = []
    for at, (argument, end) in enumerate(zip(arguments, ends, strict=True)):
        if end not in line.varying:
            if any(op.results[0] == end for op in line.body if op.results) or list(argument.uses):
                return None
            continue
        op = maker(end)
        if op is None or op.name not in _SUMS or len(list(argument.uses)) != 1 or len(list(end.uses)) != 1:
            return None
        if argument not in op.operands:
            return None
        sums.append(at)
    return sums[0] if len(sums) == 1 else None


def _carried(line: Line) -> tuple[list[ir.Value], list[ir.Value]]:
    """Returns what is carried through a loop, before and after its body."""
    block = body_of(line.loop)
    *_, last = block.operations
    return [*block.arguments][1:], list(last.operation.operands)


class InnerSum:
    """Writes vector loops before a loop that adds up, and the loop for what is left where vectors have no masks."""

    def __init__(self, line: Line, target: Target, at: int) -> None:
        self.line = line
        self.target = target
        self.place = at
        self.lanes = target.lanes_of(line.bits)

    def run(self) -> None:
        """Puts them in place of the loop."""
        loop = self.line.loop
        around = parent_of(loop)
        while around.name == "scf.for":
            # LLVM writes these once for each answer to whether a row has whole vectors, and a rest: that is enough.
            ir_words.keep_rolled(around, scalar=True)
            around = parent_of(around)
        at, upper = self.line.bounds
        first = list(loop.operands)[3 + self.place]
        wide = self.lanes * _ACCUMULATORS
        with ir.InsertionPoint(loop):
            ends = [self.end(at, upper, size) for size in (wide, self.lanes)]
            held = self._loop(at, ends[0], wide, self.zeros(wide, first.type))
            held = self._loop(ends[0], ends[1], self.lanes, self._folded(held))
            if self.target.masks:
                held = self._masked(ends[1], upper, held)
            total = ir_words.add(first, sum_of_lanes(held))
            values = self._after(total)
            if not self.target.masks:
                loop.operands[0] = ends[1]
                for place, value in enumerate(values):
                    loop.operands[3 + place] = value
                return
            for result, value in zip(loop.results, values, strict=True):
                result.replace_all_uses_with(value)
            loop.erase()

    def end(self, lower: ir.Value, upper: ir.Value, size: int) -> ir.Value:
        """Returns where the last whole vector ends."""
        left = ir_words.operation("arith.subi", upper.type, upper, lower)
        rest = ir_words.operation("arith.remui", upper.type, left, ir_words.constant(size))
        return ir_words.operation("arith.subi", upper.type, upper, rest)

    def _loop(self, lower: ir.Value, upper: ir.Value, size: int, held: ir.Value) -> ir.Value:
        def body(start: ir.Value, so_far: ir.Value) -> list[ir.Value]:
            # A sum has its registers for little else: rows are asked for at each of its turns.
            ahead = self.target.entries_ahead if self.target.ahead(2 * size, self.line.bits) else 0
            return [self.turn(Tile(start, size, None, self.target.fuses, ahead), so_far)]

        total = strided(lower, upper, size, [held], body)[0]
        if size == self.lanes:
            ir_words.keep_rolled(result_maker(total))  # fewer turns than there are accumulators
        return total

    def _masked(self, at: ir.Value, upper: ir.Value, held: ir.Value) -> ir.Value:
        left = ir_words.operation("arith.subi", upper.type, upper, at)

        def some() -> list[ir.Value]:
            mask = mask_of(left, self.lanes)
            made = self.turn(Tile(at, self.lanes, mask, self.target.fuses), held)
            # Zeros in place of what there is not, times what is not finite, are no zeros.
            return [ir_words.operation("arith.select", held.type, mask, made, held)]

        return ir_words.branch(ir_words.compare("ult", at, upper), some, lambda: [held], [held.type])[0]

    def turn(self, tile: Tile, held: ir.Value) -> ir.Value:
        """Writes one turn of the loop for the places of a tile; returns the sums after it."""
        copy = self.line.loop.clone(ir.InsertionPoint.current)
        line = line_of(copy)
        assert isinstance(line, Line)
        arguments, ends = _carried(line)
        made = Lanes(line, tile, {arguments[self.place]: held}, lambda _: copy).of(ends[self.place])
        copy.erase()
        return made

    def zeros(self, size: int, element: ir.Type) -> ir.Value:
        """Returns a vector of zeros."""
        return splat_number(ir.VectorType.get([size], element), 0)

    def _folded(self, held: ir.Value) -> ir.Value:
        """Returns the sums of a few vectors as one vector."""
        kind = ir.VectorType.get([self.lanes], ir.VectorType(held.type).element_type)
        count = ir.VectorType(held.type).shape[0] // self.lanes
        parts = [slice_of(held, kind, part * self.lanes, self.lanes) for part in range(count)]
        while len(parts) > 1:
            parts = [ir_words.add(*parts[at : at + 2]) for at in range(0, len(parts), 2)]
        return parts[0]

    def _after(self, total: ir.Value) -> list[ir.Value]:
        """Returns the sum, and for all other results what they are once there was a turn."""
        inits, (_, ends) = list(self.line.loop.operands)[3:], _carried(self.line)
        ran = ir_words.compare("ult", *self.line.bounds)
        return [
            total if at == self.place else ir_words.operation("arith.select", init.type, ran, end, init)
            for at, (init, end) in enumerate(zip(inits, ends, strict=True))
        ]


def slice_of(vector: ir.Value, kind: ir.Type, offset: int, size: int) -> ir.Value:
    """Returns consecutive elements of a vector."""
    word = ir.IntegerType.get_signless(64)
    offsets, sizes, strides = (ir.ArrayAttr.get([ir.IntegerAttr.get(word, n)]) for n in (offset, size, 1))
    return ir_words.operation(
        "vector.extract_strided_slice", kind, vector, offsets=offsets, sizes=sizes, strides=strides
    )
