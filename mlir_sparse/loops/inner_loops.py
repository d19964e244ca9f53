"""Innermost loops over consecutive elements of dense rows: what of them a vector can hold.

A line is a loop with step 1 whose body is arithmetic on elements. By lanes of a vector
each value is one of three: the same in all of them, consecutive elements of a buffer and
what is computed from those, or the place in a row, which counts up by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import (
    MemoryAccess,
    access_of,
    computes_lanes,
    computes_pairs,
    is_complex,
    is_pure,
    is_truth,
    lane_bits,
)
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.regions import operations_in
from mlir_sparse.loops.remarks import Missed, type_name
from mlir_sparse.loops.value_origins import made_by

__all__ = ["Line", "line_of", "line_of_copy"]

_ELEMENT_ACCESSES = ("memref.load", "memref.store")


@dataclass(frozen=True, slots=True)
class Line:
    """A loop over consecutive elements.

    Args:
        loop: the loop.
        body: what an iteration does.
        ends: the carried values at the end of an iteration.
        loads: what it reads.
        stores: what it stores: consecutive elements.
        varying: the values that differ from lane to lane.
        bits: the width of the widest element.
    """

    loop: ForLoop
    body: tuple[ir.Operation, ...]
    ends: tuple[ir.Value, ...]
    loads: tuple[MemoryAccess, ...]
    stores: tuple[MemoryAccess, ...]
    varying: frozenset[ir.Value]
    bits: int

    @property
    def op(self) -> ir.Operation:
        """Returns the operation that the loop is."""
        return self.loop.op

    @property
    def streams(self) -> list[MemoryAccess]:
        """Returns the loads of consecutive elements."""
        return [load for load in self.loads if load.loaded in self.varying]

    @property
    def narrowest(self) -> int:
        """Returns the width of the narrowest elements that are loaded or stored side by side."""
        kinds = [build.element_of(access.buffer) for access in (*self.streams, *self.stores)]
        return min(lane_bits(kind) // 2 if is_complex(kind) else lane_bits(kind) for kind in kinds)

    @property
    def lanes_each(self) -> int:
        """Returns how many lanes of a vector an element takes: a complex number two."""
        return 2 if any(is_complex(build.element_of(access.buffer)) for access in (*self.streams, *self.stores)) else 1

    def one_and_many(self, value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
        """Returns the factors of a product of complex numbers: the one that all lanes share, and the other one.

        It is None for any other value.
        """
        product = made_by(value, "complex.mul")
        if product is None:
            return None
        left, right = product.operands
        if (left in self.varying) == (right in self.varying):
            return None
        return (right, left) if left in self.varying else (left, right)

    def sum_with_many(self, op: ir.Operation) -> tuple[ir.Value, ir.Value, ir.Value] | None:
        """Returns what a product as `one_and_many` takes is added to, or subtracted from, and the factors.

        It is None for any other operation, and where something else takes the product.
        """
        if op.name not in ("complex.add", "complex.sub"):
            return None
        first, second = op.operands
        for total, product in ((first, second), (second, first))[: 2 if op.name == "complex.add" else 1]:
            factors = self.one_and_many(product)
            if factors is not None and total in self.varying and len(list(product.uses)) == 1:
                return (total, *factors)
        return None


def line_of(loop: ForLoop) -> Line | Missed:
    """Returns a loop as a line, or why it is none."""
    return _Reader(loop).line() if loop.step == 1 else Missed("its step is not 1")


def line_of_copy(loop: ir.Operation) -> Line:
    """Returns a copy of a line's loop as a line too."""
    line = line_of(ForLoop(loop))
    assert isinstance(line, Line)
    return line


class _Reader:
    """Sorts the values of a body by how they differ from lane to lane."""

    def __init__(self, loop: ForLoop) -> None:
        self.loop = loop
        self.places: set[ir.Value] = {loop.index}
        # What a sum has reached is a vector as well.
        self.varying: set[ir.Value] = set(loop.carried)
        self.loads: list[MemoryAccess] = []
        self.stores: list[MemoryAccess] = []
        self.bits = 0
        self.kinds: set[ir.Type] = set()

    def line(self) -> Line | Missed:
        *body, last = operations_in(self.loop.op)
        for op in body:
            if not self._takes(op):
                return Missed(self._reason(op))
        if not self.bits:
            return Missed("it goes through no elements that vectors hold")
        if len(self.kinds) > 1 and any(map(is_complex, self.kinds)):
            return Missed("it computes with complex numbers and others")
        accesses = tuple(self.loads), tuple(self.stores)
        return Line(self.loop, tuple(body), tuple(last.operands), *accesses, frozenset(self.varying), self.bits)

    def _reason(self, op: ir.Operation) -> str:
        """Returns why vectors do not do what an operation does."""
        kind = [*op.results, *op.operands][0].type
        access = access_of(op) if op.name in _ELEMENT_ACCESSES else None
        if access is not None and not self._is_consecutive(access.at):
            return "its elements do not lie side by side in memory"
        if access is not None or not op.results:
            return f"its elements are of {type_name(kind)}, which vectors do not hold"
        return f"vectors of rows have no {op.name} of {type_name(kind)}"

    def _takes(self, op: ir.Operation) -> bool:
        access = access_of(op) if op.name in _ELEMENT_ACCESSES else None
        if access is not None:
            return self._takes_load(access) if access.value is None else self._takes_store(access, access.value)
        match op.name:
            case _ if not any(o in self.varying or o in self.places for o in op.operands):
                return is_pure(op)
            case "arith.addi" | "arith.subi" if any(o in self.places for o in op.operands):
                return self._takes_place(op)
            case _:
                return (computes_lanes(op) or computes_pairs(op)) and self._takes_arithmetic(op)

    def _takes_load(self, load: MemoryAccess) -> bool:
        self.loads.append(load)
        if not any(o in self.varying or o in self.places for o in load.at):
            return True
        if not self._is_consecutive(load.at) or not self._is_element(load.loaded.type):
            return False
        self.varying.add(load.loaded)
        return True

    def _takes_store(self, store: MemoryAccess, value: ir.Value) -> bool:
        self.stores.append(store)
        return value not in self.places and self._is_consecutive(store.at) and self._is_element(value.type)

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
        kind = op.results[0].type
        self.varying.add(op.results[0])
        # Vectors choose between lanes, and there are two of each number.
        takes = computes_pairs(op) or not is_complex(kind)
        return takes and (is_truth(kind) or self._is_element(kind))

    def _is_consecutive(self, at: Sequence[ir.Value]) -> bool:
        if not at or at[-1] not in self.places:
            return False
        return not any(o in self.varying or o in self.places for o in at[:-1])

    def _is_element(self, kind: ir.Type) -> bool:
        width = lane_bits(kind)
        self.kinds.add(kind)
        self.bits = max(self.bits, width)
        return width > 0
