"""Bodies of loops on vectors instead of elements: of any, and of lines, whose vectors tiles say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.complex_lanes import (
    add_product,
    broadcast_pairs,
    complex_operation,
    crossed_product,
    parts_of,
    place_of,
    signed_parts,
    vector_of,
)
from mlir_sparse.loops.effects import MemoryAccess, access_of, computes_pairs
from mlir_sparse.loops.emit_copies import rewritten
from mlir_sparse.loops.emit_prefetch import prefetch_row
from mlir_sparse.loops.emit_vectors import broadcast, slice_of, splat_number
from mlir_sparse.loops.inner_loops import Line
from mlir_sparse.loops.value_origins import made_by, result_maker

__all__ = ["Lanes", "Tile", "VectorValues", "load_vector", "store_vector"]


@dataclass(frozen=True, slots=True)
class Tile:
    """Some consecutive places of a line.

    Args:
        start: the first.
        size: how many.
        mask: which of them there are; None for all.
        there: how many there are where stores have no masks; None where they have, or all are there. Complex numbers
            count as their two lanes.
        crossed: whether sums of products of complex numbers with one keep those with its imaginary part behind the
            others: see `joined_crossed`.
        fuses: whether products are added without rounding in between.
        distance: how many entries before their iteration rows are prefetched; 0 for not at all.
        rolled: whether LLVM is to leave the loops around it as they are: an iteration with few vectors waits for the
            sums of the one before, which takes longer than counting iterations.
    """

    start: ir.Value
    size: int
    mask: ir.Value | None
    fuses: bool
    distance: int = 0
    rolled: bool = False
    there: ir.Value | None = None
    crossed: bool = False

    def of(self, element: ir.Type) -> ir.Type:
        """Returns the type of a vector of elements."""
        return vector_of(self.size, element)


def load_vector(tile: Tile, buffer: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    """Returns consecutive elements; zeros in place of those that there are not."""
    kind, at, buffer = tile.of(build.element_of(buffer)), place_of(buffer, at), parts_of(buffer)
    if tile.mask is None:
        return build.operation("vector.load", kind, buffer, *at)
    return build.operation("vector.maskedload", kind, buffer, *at, tile.mask, splat_number(kind, 0))


def store_vector(tile: Tile, value: ir.Value, buffer: ir.Value, at: Sequence[ir.Value]) -> None:
    """Stores consecutive elements, as many as there are."""
    at, buffer = place_of(buffer, at), parts_of(buffer)
    if tile.mask is None:
        ir.Operation.create("vector.store", operands=[value, buffer, *at])
    elif tile.there is None:
        ir.Operation.create("vector.maskedstore", operands=[buffer, *at, tile.mask, value])
    else:
        _store_parts(tile.there, value, buffer, at)


def _store_parts(count: ir.Value, value: ir.Value, buffer: ir.Value, at: Sequence[ir.Value]) -> None:
    """Stores the first elements of a vector, fewer than it has: halves, each if a bit of their number says so.

    AVX2's masked stores take AMD's processors 40 operations. How many elements there are is the same for all rows,
    so that branches are foreseen.
    """
    *row, first = at
    size = ir.VectorType(value.type).shape[0] // 2
    while size:
        bit = build.bits_of("andi", count, build.constant(size))
        whole = build.compare("ne", bit, build.constant(0))
        low, high = (slice_of(value, offset, size) for offset in (0, size))
        operands = [low, buffer, *row, first]
        build.branch(whole, lambda operands=operands: _store(operands))  # type: ignore[misc]
        value, first, size = build.select(whole, high, low), build.add(first, bit), size // 2


def _store(operands: Sequence[ir.Value]) -> None:
    ir.Operation.create("vector.store", operands=operands)


class VectorValues:
    """The values of a loop's body in all lanes of vectors, written when they are asked for.

    Args:
        lanes: how many there are.
        varying: the values that differ from lane to lane.
        known: the vectors that some of them are.
    """

    def __init__(self, lanes: int, varying: Collection[ir.Value], known: Mapping[ir.Value, ir.Value]) -> None:
        self.lanes = lanes
        self.varying = varying
        self.vectors = dict(known)

    def of(self, value: ir.Value) -> ir.Value:
        """Returns the vector that a value is."""
        if value not in self.vectors:
            varies = value in self.varying
            self.vectors[value] = self.computed(result_maker(value)) if varies else self._same(value)
        return self.vectors[value]

    def _same(self, value: ir.Value) -> ir.Value:
        """Returns a vector of a value that is the same in all lanes.

        An f16 is widened there: LLVM loads one alone into the rest of a register, and waits for what that held.
        """
        widened = made_by(value, "arith.extf")
        half = None if widened is None else widened.operands[0]
        if widened is None or half is None or not DType.of(str(half.type)).widens_in_vectors:
            return broadcast_pairs(value, self.lanes)
        return rewritten(widened, [broadcast(half, self.lanes)], self.lanes)

    def computed(self, op: ir.Operation) -> ir.Value:
        """Writes an operation whose result differs from lane to lane; returns the vector."""
        operands = [self.of(operand) for operand in op.operands]
        return complex_operation(op, operands) if computes_pairs(op) else rewritten(op, operands, self.lanes)


class Lanes(VectorValues):
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
        self, line: Line, tile: Tile, known: Mapping[ir.Value, ir.Value], place: Callable[[MemoryAccess], ir.Operation]
    ) -> None:
        super().__init__(tile.size, line.varying, known)
        self.line = line
        self.tile = tile
        line.loop.index.replace_all_uses_with(tile.start)
        for op in line.body:
            access = access_of(op)  # its address as it is now
            if (access is not None and access.value is not None) or op.results[0] in self.vectors:
                continue
            if op.results[0] not in line.varying:
                op.move_before(line.op)
            elif access is not None:
                self._load(access, place(access))

    def _load(self, load: MemoryAccess, place: ir.Operation) -> None:
        with ir.InsertionPoint(place):
            self.vectors[load.loaded] = load_vector(self.tile, load.buffer, load.at)
            if self.tile.distance:
                prefetch_row(load.buffer, load.at, self.tile.size, self.tile.distance)

    def of(self, value: ir.Value) -> ir.Value:
        """Returns the vector that a value of the line is."""
        with ir.InsertionPoint(self.line.op):
            return super().of(value)

    def computed(self, op: ir.Operation) -> ir.Value:
        """Writes an operation whose result differs from lane to lane, fused with a product where there are such."""
        if computes_pairs(op):
            return self._of_pairs(op)
        fuses = self.tile.fuses and op.name in ("arith.addf", "arith.subf")
        fused = self._fused(op) if fuses else None
        return super().computed(op) if fused is None else fused

    def _fused(self, op: ir.Operation) -> ir.Value | None:
        """Returns a sum with a product that nothing else takes, or the difference of one, rounded once."""
        first, second = op.operands
        for product, other in ((second, first), (first, second)):
            made = made_by(product, "arith.mulf")
            if product not in self.line.varying or made is None or _is_shared(product):
                continue
            left, right = map(self.of, made.operands)
            added = self.of(other)
            if op.name == "arith.subf":
                if product == second:
                    left = build.operation("arith.negf", left.type, left)
                else:
                    added = build.operation("arith.negf", added.type, added)
            return build.operation("vector.fma", left.type, left, right, added)
        return None

    def _of_pairs(self, op: ir.Operation) -> ir.Value:
        """Writes an operation on complex numbers, with a product of one with many as cheaply as it can be had."""
        fuses, less = self.tile.fuses, op.name == "complex.sub"
        if (factors := self.line.one_and_many(op.results[0])) is not None:
            one, many = factors
            return add_product(*signed_parts(one, self.lanes), self.of(many), None)
        found = self.line.sum_with_many(op)
        if found is None:
            return super().computed(op)
        total, one, many = found
        operands = self.of(many), self.of(total)
        if self.tile.crossed:
            return crossed_product(one, *operands, less=less, fuses=fuses)
        return add_product(*signed_parts(one, self.lanes, less=less), *operands, fuses=fuses)


def _is_shared(value: ir.Value) -> bool:
    return len(list(value.uses)) != 1
