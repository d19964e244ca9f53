"""Rows that start from what the result would be filled with, in the loop that adds to them.

An accumulation finds its result filled: by the identity, or by addends that are dense. Where
one loop goes through the elements in order, reads each once, before what adds to it, and
stores it once, the element's first value can be made there: the result is written once and
never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import is_pure, root_of, writes_nothing
from mlir_sparse.loops.emit_copies import copy_body
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.regions import body_of, following, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_constant, parent_of

__all__ = ["ConstantFill", "constant_before", "constant_before_rows", "fuse_fill"]

_LOOKS = frozenset(("memref.dim", "func.return"))  # that need no value, or come last


def fuse_fill(seen: Seen, options: Mapping[str, str]) -> bool:
    """Moves what fills a vector into the loop that goes through it.

    Args:
        seen: a module after bufferization; rewritten in place.
        options: none.

    Returns:
        whether it changed anything.
    """
    changed = False
    for op in [op for op in seen.whole.named("linalg.generic") if parent_of(op).name == "func.func"]:
        fill = _fill_of(op)
        found = None if fill is None else _find_row(fill)
        if fill is None or found is None:
            continue
        row = seen.remarks.of(found.loop if isinstance(found, _Row) else op, found)
        if row is not None:
            _start(fill, row)
            changed = True
    return changed


@dataclass(frozen=True, slots=True)
class _Fill:
    """An elementwise `linalg.generic` that gives all elements of an array a value.

    Args:
        op: the operation.
        result: the array: an argument of the function, or an allocation.
        along: of each input, whether it is an array as well, read where the result is written; else it is one element.
    """

    op: ir.Operation
    result: ir.Value
    along: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """Where a loop reads and writes the elements of a vector, at its index.

    Args:
        loop: the `scf.for`, from 0 in steps of 1.
        load: the only load of the vector in it; None where there is none.
    """

    loop: ir.Operation
    load: ir.Operation | None


@dataclass(frozen=True, slots=True)
class ConstantFill:
    """What all elements of an array are given before a loop.

    Args:
        fill: the operation that does so.
    """

    fill: _Fill

    def value(self) -> ir.Value:
        """Writes the value; returns it."""
        return _value_at(self.fill, None)

    def store(self, lower: ir.Value, upper: ir.Value | None = None, row: Sequence[ir.Value] = ()) -> None:
        """Writes a loop that gives it to the elements from one on, up to another or to the end.

        Args:
            lower: the first.
            upper: the one behind the last; None for the end.
            row: the subscripts before theirs.
        """
        upper = self._size(len(row)) if upper is None else upper
        build.loop(upper, (), lambda place: self._give([*row, place]), lower)

    def store_rows_after(self, loop: ir.Operation) -> None:
        """Writes loops that give it to the rows of a matrix that a loop does not reach, behind that."""
        with ir.InsertionPoint(following(loop)):
            upper = loop.operands[1]
            build.loop(self._size(0), (), lambda row: self.store(build.constant(0), row=[row]), upper)

    def _size(self, dimension: int) -> ir.Value:
        return build.operation("memref.dim", build.index_type(), self.fill.result, build.constant(dimension))

    def _give(self, at: list[ir.Value]) -> None:
        ir.Operation.create("memref.store", operands=[self.value(), self.fill.result, *at])

    def erase(self) -> None:
        """Takes it out of the function."""
        self.fill.op.erase()


def constant_before(root: ir.Operation, buffer: ir.Value) -> ConstantFill | None:
    """Returns the constant that a buffer is filled with before a loop, if nothing reads or writes it in between."""
    around = parent_of(root)
    if around.name != "func.func":
        return None
    operations = operations_in(around)
    for op in reversed(operations[: operations.index(root)]):
        if op.name == "linalg.generic" and op.operands[len(op.operands) - 1] == buffer:
            fill = _fill_of(op)
            arrays = [value for value in list(op.operands)[:-1] if isinstance(value.type, ir.MemRefType)]
            return None if fill is None or arrays or any(fill.along) else ConstantFill(fill)
        if op.name != "memref.dim" and (buffer in list(op.operands) or _uses_in(buffer, op) or not writes_nothing(op)):
            return None
    return None


def constant_before_rows(root: ir.Operation, buffer: ir.Value, row: ir.Value) -> ConstantFill | None:
    """Returns the constant that a matrix is filled with, if nothing but a nest reads or writes it after that.

    Args:
        root: the nest, which must be right inside a loop that goes through the rows in order.
        buffer: the matrix.
        row: the number of the nest's row, which must be that loop's index.
    """
    loop = parent_of(root)
    if loop.name != "scf.for" or loop.results or list(body_of(loop).arguments) != [row]:
        return None
    lower, _, step = loop.operands
    if not (is_constant(lower, 0) and is_constant(step, 1)):
        return None
    constant = constant_before(loop, buffer)
    if constant is None:
        return None
    inside = _uses_in(buffer, root)
    others = [op for use in buffer.uses if (op := use.owner.operation) not in inside]
    return constant if all(op == constant.fill.op or op.name in _LOOKS for op in others) else None


def _fill_of(op: ir.Operation) -> _Fill | None:
    """Returns an operation as a fill; None where it is none."""
    *inputs, result = op.operands
    maps = [ir.AffineMapAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]
    along = ir.AffineMap.get_identity(ir.MemRefType(result.type).rank)
    if len(op.regions) != 1 or op.results or maps[-1] != along or root_of(result) != result:
        return None
    block = op.regions[0].blocks[0]
    if list(block.arguments[len(inputs)].uses):
        return None
    if any(used != along and list(used.results) for used in maps[:-1]):
        return None
    if not all(map(is_pure, operations_in(op))):
        return None
    vectors = tuple(used == along for used in maps[:-1])
    arrays = [value for value in inputs if isinstance(value.type, ir.MemRefType)]
    if any(root_of(value) is None or root_of(value) == result for value in arrays):
        return None
    return _Fill(op, result, vectors)


def _find_row(fill: _Fill) -> _Row | Missed | None:
    """Returns the loop after a fill that stores each element once, read before if at all, or why there is none.

    Returns None where nothing adds to what is filled.
    """
    later = operations_in(parent_of(fill.op))
    for op in later[later.index(fill.op) + 1 :]:
        if op.name == "scf.for" and _uses_in(fill.result, op):
            return _row_of(fill, op)
        if op.name == "scf.while":
            return Missed("its elements are added to in the order of stored entries, not row by row")
        if op.name != "func.return" and (fill.result in list(op.operands) or not writes_nothing(op)):
            return Missed("the result is used, or other memory written, before the loops that add to it")
    return None


def _row_of(fill: _Fill, loop: ir.Operation) -> _Row | Missed:
    lower, _, step = list(loop.operands)[:3]
    if loop.results or not (is_constant(lower, 0) and is_constant(step, 1)):
        return Missed("the loop that adds to the result does not go through all of its rows")
    uses = _uses_in(fill.result, loop)
    # Where the sparsifier knows what a reduction starts from, it reads nothing.
    if [op.name for op in uses] not in (["memref.load", "memref.store"], ["memref.store"]):
        return Missed("an element of the result is read or written at several places in the loops")
    *loads, store = uses
    place = [body_of(loop).arguments[0]]
    if len(_address(store)) > 1:
        return Missed("its result is no vector: register-tile sees to what rows of a matrix start from")
    if any(op.parent != loop for op in uses) or any(_address(op) != place for op in uses):
        return Missed("its loop adds to an element in several turns, or to none in some")
    if store.operands[0] == fill.result or not all(op == store or writes_nothing(op) for op in operations_in(loop)):
        return Missed("the loop writes other memory besides the result")
    return _Row(loop, loads[0] if loads else None)


def _address(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[2 if op.name == "memref.store" else 1 :]


def _uses_in(value: ir.Value, loop: ir.Operation) -> list[ir.Operation]:
    """Returns the operations inside a loop that take a value, in their order."""
    found: list[ir.Operation] = []
    for op in operations_in(loop):
        if value in list(op.operands):
            found.append(op)
        found += _uses_in(value, op)
    return found


def _start(fill: _Fill, row: _Row) -> None:
    """Makes the first value of an element where it was loaded, and of those behind the loop after it."""
    (at,) = list(body_of(row.loop).arguments)
    if row.load is not None:
        with ir.InsertionPoint(row.load):
            row.load.results[0].replace_all_uses_with(_value_at(fill, at))
        row.load.erase()
    upper = row.loop.operands[1]
    with ir.InsertionPoint(following(row.loop)):
        size = build.operation("memref.dim", build.index_type(), fill.result, build.constant(0))
        # The loop is as long as a level of an operand. The runtime sees to it that the result is so too; here it shows.
        build.loop(size, (), lambda place: build.store(_value_at(fill, place), fill.result, place), upper)
    fill.op.erase()


def _value_at(fill: _Fill, place: ir.Value | None) -> ir.Value:
    """Writes what a fill gives an element; returns it."""
    *inputs, _ = fill.op.operands
    block = fill.op.regions[0].blocks[0]
    at = [] if place is None else [place]
    known: dict[ir.Value, ir.Value] = {
        argument: _element(value, at if along else [])
        for argument, value, along in zip(list(block.arguments), inputs, fill.along, strict=False)
    }
    (value,) = copy_body(fill.op, known)
    return value


def _element(value: ir.Value, at: list[ir.Value]) -> ir.Value:
    if not isinstance(value.type, ir.MemRefType):
        return value
    return build.operation("memref.load", build.element_of(value), value, *at)
