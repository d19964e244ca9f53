"""Innermost loops over consecutive elements of dense rows: what of them a vector can hold.

A line is a loop with step 1 whose body is arithmetic on elements. By lanes of a vector
each value is one of three: the same in all of them, consecutive elements of a buffer and
what is computed from those, or the place in a row, which counts up by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops.origins import maker, operation_around
from mlir_sparse.loops.remarks import Missed, type_name

__all__ = [
    "ELEMENTWISE",
    "Line",
    "body_of",
    "copy_of",
    "element_bits",
    "is_constant",
    "is_number",
    "line_of",
    "may_share",
    "operations_in",
    "operations_within",
    "root_of",
]

# Elementwise arithmetic: on vectors it is what it is on their elements, rounding included. Integers are not divided:
# lanes that a mask leaves out are zeros.
ELEMENTWISE = frozenset(
    (
        *(f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "negf", "extf", "truncf", "cmpf", "select")),
        *(f"arith.{name}" for name in ("maximumf", "minimumf", "maxnumf", "minnumf")),
        *(f"arith.{name}" for name in ("addi", "subi", "muli", "andi", "ori", "xori", "extsi", "extui", "trunci")),
        *(f"arith.{name}" for name in ("cmpi", "maxsi", "minsi", "maxui", "minui", "sitofp", "uitofp")),
        *(f"math.{name}" for name in ("absf", "absi", "sqrt", "floor", "ceil")),
    )
)
_VIEWS = frozenset(("memref.subview", "memref.cast"))


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


def body_of(loop: ir.Operation) -> ir.Block:
    """Returns the block of an `scf.for`."""
    return loop.regions[0].blocks[0]


def operations_in(op: ir.Operation) -> list[ir.Operation]:
    """Returns the operations right inside an operation's regions, in order.

    Iterating over a block would make an object of each operation's own class, for which
    Python loads the whole dialect: 40 ms for those of loops alone.
    """
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner == op:
            return ir.WalkResult.ADVANCE
        found.append(inner)
        return ir.WalkResult.SKIP

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def element_bits(kind: ir.Type) -> int:
    """Returns the width of an element that vectors hold; 0 for a type that they do not, such as complex numbers."""
    match kind:
        case ir.IndexType():
            return 0
        case ir.IntegerType():
            return kind.width if kind.width > 1 else 0
        case ir.F16Type() | ir.BF16Type() | ir.F32Type() | ir.F64Type():
            return kind.width
        case _:
            return 0


def is_number(value: ir.Value) -> bool:
    """Returns whether a value is a constant."""
    op = maker(value)
    return op is not None and bool(op.name == "arith.constant")


def operations_within(op: ir.Operation) -> list[ir.Operation]:
    """Returns all operations inside an operation, those inside others too, each behind what is in it."""
    found: list[ir.Operation] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found[:-1]


def copy_of(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Returns a copy of an operation at the insertion point, with known values in place of those they are of.

    Args:
        op: the operation.
        known: the values; the copy's results are added for the operation's.
    """

    def replace(inner: ir.Operation) -> ir.WalkResult:
        for at, value in enumerate(inner.operands):
            if value in known:
                inner.operands[at] = known[value]
        return ir.WalkResult.ADVANCE

    copied = op.clone(ir.InsertionPoint.current).operation
    copied.walk(replace)
    known.update(zip(op.results, copied.results, strict=True))
    return copied


def is_constant(value: ir.Value, number: int) -> bool:
    """Returns whether a value is a constant of type `index`."""
    op = maker(value)
    if op is None or op.name != "arith.constant":
        return False
    return bool(ir.IntegerAttr(op.attributes["value"]).value == number)


def root_of(buffer: ir.Value) -> ir.Value | None:
    """Returns the buffer that a view is into: an argument of the function, or an allocation; None where unknown.

    Two arguments share no memory where one is written: the runtime sees to it before each call.
    """
    op = maker(buffer)
    while op is not None and op.name in _VIEWS:
        buffer = op.operands[0]
        op = maker(buffer)
    if op is None:
        return buffer if operation_around(buffer).name == "func.func" else None
    return buffer if op.name in ("memref.alloc", "memref.alloca") else None


def may_share(buffer: ir.Value, other: ir.Value) -> bool:
    """Returns whether two buffers may be into one: what a view is into is not always known."""
    root, second = root_of(buffer), root_of(other)
    return root is None or second is None or bool(root == second)


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
            case name if not any(o in self.varying or o in self.places for o in op.operands):
                return bool(name.startswith(("arith.", "math.")))
            case "arith.addi" | "arith.subi" if any(o in self.places for o in op.operands):
                return self._takes_place(op)
            case name if name in ELEMENTWISE and len(op.results) == 1:
                return self._takes_arithmetic(op)
            case _:
                return False

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
        # A truth value is chosen by, never stored.
        return op.results[0].type == ir.IntegerType.get_signless(1) or self._is_element(op.results[0].type)

    def _is_consecutive(self, at: list[ir.Value]) -> bool:
        if not at or at[-1] not in self.places:
            return False
        return not any(o in self.varying or o in self.places for o in at[:-1])

    def _is_element(self, kind: ir.Type) -> bool:
        width = element_bits(kind)
        self.bits = max(self.bits, width)
        return width > 0
