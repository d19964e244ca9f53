"""What gives all elements of an array a value, before loops add to them."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import is_pure, root_of, writes_nothing
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.regions import body_of, following, operations_in, users_in
from mlir_sparse.loops.value_origins import parent_of
from mlir_sparse.program.loop_form import LoopForm

__all__ = ["ArrayFill", "constant_before", "constant_before_rows"]

_LOOKS = frozenset(("memref.dim", "func.return"))  # that need no value, or come last


@dataclass(frozen=True, slots=True)
class ArrayFill:
    """An elementwise `linalg.generic` that gives all elements of an array a value, whatever they were.

    Args:
        op: the operation.
        along: of each input, whether it is an array as well, read where the result is written; else it is one element.
    """

    op: ir.Operation
    along: tuple[bool, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> ArrayFill | None:
        """Returns an operation as a fill; None for any other."""
        if op.name != "linalg.generic" or len(op.regions) != 1 or op.results:
            return None
        *inputs, result = op.operands
        *used, written = [ir.AffineMapAttr(map_).value for map_ in ir.ArrayAttr(op.attributes["indexing_maps"])]
        along = ir.AffineMap.get_identity(ir.MemRefType(result.type).rank)
        if written != along or any(map_ != along and list(map_.results) for map_ in used):
            return None
        roots = [root_of(value) for value in inputs if isinstance(value.type, ir.MemRefType)]
        if (
            root_of(result) is None
            or root_of(result) != result
            or any(root is None or root == result for root in roots)
        ):
            return None
        reads_itself = list(body_of(op).arguments[len(inputs)].uses)
        pure = all(map(is_pure, operations_in(op)))
        return cls(op, tuple(map_ == along for map_ in used)) if pure and not reads_itself else None

    @property
    def inputs(self) -> Sequence[ir.Value]:
        """Returns what it computes the values from."""
        return list(self.op.operands)[:-1]

    @property
    def result(self) -> ir.Value:
        """Returns the array: an argument of the function, or an allocation."""
        return list(self.op.operands)[-1]

    @property
    def is_constant(self) -> bool:
        """Returns whether it gives all elements one value, which no buffer holds."""
        return not any(self.along) and not any(isinstance(value.type, ir.MemRefType) for value in self.inputs)

    def value(self, at: Sequence[ir.Value] = ()) -> ir.Value:
        """Writes what it gives an element; returns that.

        Args:
            at: where the element is; for a constant it may be left out.
        """
        arguments = list(body_of(self.op).arguments)[:-1]
        known: dict[ir.Value, ir.Value] = {
            argument: _element(value, at if along else ())
            for argument, value, along in zip(arguments, self.inputs, self.along, strict=True)
        }
        (value,) = copy_body(self.op, known)
        return value

    def store(self, lower: ir.Value, upper: ir.Value | None = None, row: Sequence[ir.Value] = ()) -> None:
        """Writes a loop that gives the elements from one on, up to another or to the end, their values.

        Args:
            lower: the first.
            upper: the one behind the last; None for the end.
            row: the subscripts before theirs.
        """
        upper = self._size(len(row)) if upper is None else upper
        build.loop(upper, (), lambda place: self._give([*row, place]), lower)

    def store_rows_after(self, loop: ForLoop) -> None:
        """Writes loops that give the rows of a matrix that a loop does not reach their values, behind that."""
        with ir.InsertionPoint(following(loop.op)):
            build.loop(self._size(0), (), lambda row: self.store(build.constant(0), row=[row]), loop.upper)

    def _size(self, dimension: int) -> ir.Value:
        return build.operation("memref.dim", build.index_type(), self.result, build.constant(dimension))

    def _give(self, at: Sequence[ir.Value]) -> None:
        ir.Operation.create("memref.store", operands=[self.value(at), self.result, *at])

    def erase(self) -> None:
        """Takes it out of the function."""
        self.op.erase()


def _element(value: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    if not isinstance(value.type, ir.MemRefType):
        return value
    return build.operation("memref.load", build.element_of(value), value, *at)


def constant_before(root: ir.Operation, buffer: ir.Value) -> ArrayFill | None:
    """Returns the constant that a buffer is filled with before a loop, if nothing reads or writes it in between."""
    around = parent_of(root)
    if around.name != "func.func":
        return None
    operations = operations_in(around)
    for op in reversed(operations[: operations.index(root)]):
        if op.name == "linalg.generic" and list(op.operands)[-1] == buffer:
            fill = ArrayFill.of(op)
            return fill if fill is not None and fill.is_constant else None
        if op.name != "memref.dim" and (buffer in list(op.operands) or users_in(buffer, op) or not writes_nothing(op)):
            return None
    return None


def constant_before_rows(root: ir.Operation, buffer: ir.Value, row: ir.Value) -> ArrayFill | None:
    """Returns the constant that a matrix is filled with, if nothing but a nest reads or writes it after that.

    Args:
        root: the nest, which must be right inside a loop that goes through the rows in order.
        buffer: the matrix.
        row: the number of the nest's row, which must be that loop's index.
    """
    loop = loop_of(parent_of(root))
    if not isinstance(loop, ForLoop) or loop.results or loop.form is not LoopForm.DENSE or loop.index != row:
        return None
    fill = constant_before(loop.op, buffer)
    if fill is None:
        return None
    inside = users_in(buffer, root)
    others = [op for use in buffer.uses if (op := use.owner.operation) not in inside]
    return fill if all(op == fill.op or op.name in _LOOKS for op in others) else None
