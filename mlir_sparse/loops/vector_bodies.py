"""The body of a line on vectors instead of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import ir_words
from mlir_sparse.loops.inner_loops import Line
from mlir_sparse.loops.origins import maker, result_maker
from mlir_sparse.loops.prefetch import prefetch_ahead
from mlir_sparse.loops.regions import body_of

__all__ = ["Lanes", "Tile", "load_vector", "mask_of", "splat_number", "store_vector", "strided", "sum_of_lanes"]


@dataclass(frozen=True, slots=True)
class Tile:
    """Some consecutive places of a line.

    Args:
        start: the first.
        size: how many.
        mask: which of them there are; None for all.
        fuses: whether products are added without rounding in between.
        ahead: how many entries before their turn rows are asked for; 0 for not at all.
        rolled: whether LLVM is to leave the loops around it as they are: a turn with few vectors waits for the sums of
            the one before, which takes longer than counting turns.
    """

    start: ir.Value
    size: int
    mask: ir.Value | None
    fuses: bool
    ahead: int = 0
    rolled: bool = False

    def of(self, element: ir.Type) -> ir.Type:
        """Returns the type of a vector of elements."""
        return ir.VectorType.get([self.size], element)


def load_vector(tile: Tile, buffer: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    """Returns consecutive elements; zeros in place of those that there are not."""
    kind = tile.of(ir_words.element_of(buffer))
    if tile.mask is None:
        return ir_words.operation("vector.load", kind, buffer, *at)
    return ir_words.operation("vector.maskedload", kind, buffer, *at, tile.mask, splat_number(kind, 0))


def store_vector(tile: Tile, value: ir.Value, buffer: ir.Value, at: Sequence[ir.Value]) -> None:
    """Stores consecutive elements, as many as there are."""
    if tile.mask is None:
        ir.Operation.create("vector.store", operands=[value, buffer, *at])
    else:
        ir.Operation.create("vector.maskedstore", operands=[buffer, *at, tile.mask, value])


def splat_number(kind: ir.Type, number: int) -> ir.Value:
    """Returns a constant vector whose elements are one number."""
    element = ir.VectorType(kind).element_type
    value = ir.FloatAttr.get(element, number) if ir_words.is_float(element) else ir.IntegerAttr.get(element, number)
    return ir_words.operation("arith.constant", kind, value=ir.DenseElementsAttr.get_splat(kind, value))


def sum_of_lanes(vector: ir.Value, *start: ir.Value) -> ir.Value:
    """Returns the sum of the elements of a vector, in the order that is fastest, and of what it starts from."""
    attributes = {"kind": ir.Attribute.parse("#vector.kind<add>")}
    if ir_words.is_float(vector.type):
        attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
    return ir_words.operation("vector.reduction", ir.VectorType(vector.type).element_type, vector, *start, **attributes)


def mask_of(count: ir.Value, lanes: int) -> ir.Value:
    """Returns the mask of the first lanes of a vector, as many as there are places."""
    kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
    return ir_words.operation("vector.create_mask", kind, count)


def strided(
    lower: ir.Value,
    upper: ir.Value,
    step: int,
    start: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value] | None],
) -> list[ir.Value]:
    """Writes an `scf.for`; the body takes the index and the carried values, and returns those.

    Returns:
        the carried values after the loop.
    """
    kinds = [value.type for value in start]
    operands = [lower, upper, ir_words.constant(step), *start]
    op = ir.Operation.create("scf.for", results=kinds, operands=operands, regions=1)
    block = op.regions[0].blocks.append(
        ir_words.index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1)
    )
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=list(body(*block.arguments) or ()))
    return list(op.results)


class Lanes:
    """The body of a line for the places of a tile at once, written before its loop.

    What is the same for all lanes is moved out of the loop at once; what differs is
    written when it is asked for.

    Args:
        line: the line.
        tile: the places.
        known: the vectors that some values are: what the line adds to.
        place: returns the operation before which a load may stand.
    """

    def __init__(
        self, line: Line, tile: Tile, known: dict[ir.Value, ir.Value], place: Callable[[ir.Operation], ir.Operation]
    ) -> None:
        self.line = line
        self.tile = tile
        self.vectors = dict(known)
        body_of(line.loop).arguments[0].replace_all_uses_with(tile.start)
        for op in line.body:
            if op.name == "memref.store" or op.results[0] in self.vectors:
                continue
            if op in line.streams:
                buffer, *at = op.operands
                with ir.InsertionPoint(place(op)):
                    self.vectors[op.results[0]] = load_vector(tile, buffer, at)
                    if tile.ahead:
                        prefetch_ahead(buffer, at, tile.size, tile.ahead)
            elif op.results[0] not in line.varying:
                op.move_before(line.loop)

    def of(self, value: ir.Value) -> ir.Value:
        """Returns the vector that a value of the line is."""
        if value not in self.vectors:
            with ir.InsertionPoint(self.line.loop):
                if value in self.line.varying:
                    self.vectors[value] = self._computed(result_maker(value))
                else:
                    self.vectors[value] = ir_words.operation("vector.broadcast", self.tile.of(value.type), value)
        return self.vectors[value]

    def _computed(self, op: ir.Operation) -> ir.Value:
        if self.tile.fuses and op.name in ("arith.addf", "arith.subf"):
            fused = self._fused(op)
            if fused is not None:
                return fused
        attributes = {name: op.attributes[name] for name in op.attributes}
        return ir_words.operation(op.name, self.tile.of(op.results[0].type), *map(self.of, op.operands), **attributes)

    def _fused(self, op: ir.Operation) -> ir.Value | None:
        """Returns a sum with a product that nothing else takes, or the difference of one, rounded once."""
        for at in (1, 0):
            product, made = op.operands[at], maker(op.operands[at])
            if product not in self.line.varying or made is None or made.name != "arith.mulf" or _is_shared(product):
                continue
            left, right = map(self.of, made.operands)
            other = self.of(op.operands[1 - at])
            if op.name == "arith.subf":
                if at == 1:
                    left = ir_words.operation("arith.negf", left.type, left)
                else:
                    other = ir_words.operation("arith.negf", other.type, other)
            return ir_words.operation("vector.fma", left.type, left, right, other)
        return None


def _is_shared(value: ir.Value) -> bool:
    return len(list(value.uses)) != 1
