"""Innermost loops over consecutive elements of dense rows: what of them a vector can hold.

A line is a loop with step 1 whose body is arithmetic on elements. By lanes of a vector
each value is one of three: the same in all of them, consecutive elements of a buffer and
what is computed from those, or the place in a row, which counts up by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops.effects import computes_lanes, element_bits, is_pure, is_truth
from mlir_sparse.loops.regions import body_of, operations_in
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.value_origins import is_constant

__all__ = ["Line", "line_of"]


@dataclass(frozen=True, slots=True)
class Line:
    """A loop over consecutive elements.

    Args:
        loop: the `scf.for`.
        body: its operations, but for the terminator.
        streams: the loads of consecutive elements.
        varying: the values that differ from lane to lane.
        stores: what it stores: consecutive elements too.
        bits: the width of the widest element.
    """

    loop: ir.Operation
    body: tuple[ir.Operation, ...]
    streams: tuple[ir.Operation, ...]
    varying: frozenset[ir.Value]
    stores: tuple[ir.Operation, ...]
    bits: int

    @property
    def bounds(self) -> tuple[ir.Value, ir.Value]:
        """Returns the first place and the one behind the last."""
        lower, upper, *_ = self.loop.operands
        return lower, upper


def line_of(loop: ir.Operation) -> Line | Missed:
    """Returns a loop as a line, or why it is none."""
    return _Reader(loop).line() if is_constant(loop.operands[2], 1) else Missed("its step is not 1")


class _Reader:
    """Sorts the values of a body by how they differ from lane to lane."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.places: set[ir.Value] = {body_of(loop).arguments[0]}
        # What a sum has reached is a vector as well.
        self.varying: set[ir.Value] = set(list(body_of(loop).arguments)[1:])
        self.streams: list[ir.Operation] = []
        self.stores: list[ir.Operation] = []
        self.bits = 0

    def line(self) -> Line | Missed:
        *body, _ = operations_in(self.loop)
        for op in body:
            if not self._takes(op):
                return Missed(self._reason(op))
        if not self.bits:
            return Missed("it goes through no elements that vectors hold")
        return Line(self.loop, tuple(body), tuple(self.streams), frozenset(self.varying), tuple(self.stores), self.bits)

    def _reason(self, op: ir.Operation) -> str:
        """Returns why vectors do not do what an operation does."""
        in_memory = op.name in ("memref.load", "memref.store")
        kind = op.results[0].type if op.results else op.operands[0].type
        if in_memory and not self._is_consecutive(list(op.operands)[2 if op.name == "memref.store" else 1 :]):
            return "its elements do not lie side by side in memory"
        if in_memory or not op.results:
            return f"its elements are of {type_name(kind)}, which vectors do not hold"
        return f"vectors of rows have no {op.name} of {type_name(kind)}"

    def _takes(self, op: ir.Operation) -> bool:
        match op.name:
            case "memref.load":
                return self._takes_load(op)
            case "memref.store":
                self.stores.append(op)
                value, _, *at = op.operands
                return value not in self.places and self._is_consecutive(at) and self._is_element(value.type)
            case _ if not any(o in self.varying or o in self.places for o in op.operands):
                return is_pure(op)
            case "arith.addi" | "arith.subi" if any(o in self.places for o in op.operands):
                return self._takes_place(op)
            case _:
                return computes_lanes(op) and self._takes_arithmetic(op)

    def _takes_load(self, op: ir.Operation) -> bool:
        _, *at = op.operands
        if not any(o in self.varying or o in self.places for o in at):
            return True
        if not self._is_consecutive(at) or not self._is_element(op.results[0].type):
            return False
        self.streams.append(op)
        self.varying.add(op.results[0])
        return True

    def _takes_place(self, op: ir.Operation) -> bool:
        """Takes the place in a row moved by a number that is the same for all lanes."""
        left, right = op.operands
        moved, by = (left, right) if left in self.places else (right, left)
        if moved not in self.places or by in self.places or by in self.varying:
            return False
        self.places.add(op.results[0])
        return op.name == "arith.addi" or bool(moved == left)

    def _takes_arithmetic(self, op: ir.Operation) -> bool:
        if any(o in self.places for o in op.operands):
            return False
        self.varying.add(op.results[0])
        return is_truth(op.results[0].type) or self._is_element(op.results[0].type)

    def _is_consecutive(self, at: list[ir.Value]) -> bool:
        if not at or at[-1] not in self.places:
            return False
        return not any(o in self.varying or o in self.places for o in at[:-1])

    def _is_element(self, kind: ir.Type) -> bool:
        width = element_bits(kind)
        self.bits = max(self.bits, width)
        return width > 0
