"""The pass that makes loops parallel whose iterations are proven to write to places of their own.

The sparsifier's `parallelization-strategy` asks where a loop stands, and not what its iterations store to: threads that
are given such a loop race. It also ends the process where such a loop carries a sum. So it is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations

from mlir_sparse._mlir import ir
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.effects import MemoryAccess, access_of, is_pure
from mlir_sparse.loops.model import EMITTED
from mlir_sparse.loops.regions import body_of, operations_in, operations_of, walk
from mlir_sparse.loops.value_origins import constant_of, made_by

__all__ = ["kept_reasons", "parallelize_loops"]

_KEPT = "kept_on_host"  # the attribute of a loop that says why it is not a kernel
_STRUCTURE = frozenset(("scf.parallel", "scf.for", "scf.while", "scf.if", "scf.yield", "scf.condition", "scf.reduce"))
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi")
_Form = tuple[ir.Value, int, tuple[object, ...]]


def parallelize_loops(module: ir.Module, options: Mapping[str, str]) -> None:
    """Makes the outermost loops of the sparsifier parallel, those whose iterations are apart.

    `sparse-gpu-codegen` makes kernels of parallel loops that the sparsifier marked. Others lose the mark, and say why
    in their attribute `kept_on_host`.

    Args:
        module: the module, in place.
        options: none.
    """
    for function in operations_of(module.body):
        for loop in list(_outermost(function)):
            reason = _fault(loop)
            if reason:
                del loop.attributes[EMITTED]
                loop.attributes[_KEPT] = ir.StringAttr.get(reason)
            elif loop.name == "scf.for":
                _parallelize(loop)


def _outermost(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the loops of the sparsifier that are in no other one."""
    for inner in operations_in(op):
        if EMITTED in inner.attributes and inner.name.startswith("scf."):
            yield inner
        else:
            yield from _outermost(inner)


def _parallelize(loop: ir.Operation) -> None:
    with ir.InsertionPoint(loop), loop.location:
        bounds = list(loop.operands)
        segments = ir.DenseI32ArrayAttr.get([1, 1, 1, 0])
        attributes = {"operandSegmentSizes": segments, EMITTED: loop.attributes[EMITTED]}
        made = ir.Operation.create("scf.parallel", operands=bounds, attributes=attributes, regions=1)
        block = made.regions[0].blocks.append(build.index_type(), arg_locs=[loop.location])
        (counter,) = body_of(loop).arguments
        counter.replace_all_uses_with(block.arguments[0])
        *body, _ = operations_of(body_of(loop))
        for op in body:
            op.detach_from_parent()
            block.append(op)
        with ir.InsertionPoint(block):
            ir.Operation.create("scf.reduce", regions=0)
    loop.erase()


def _fault(loop: ir.Operation) -> str:
    """Returns why a loop is not one whose iterations are apart; "" where they are."""
    if loop.name not in ("scf.for", "scf.parallel"):
        return "it merges operands, and no iteration knows its place before those ahead of it"
    if list(loop.results):
        return "its iterations add to one sum"
    inside = [op for op in walk(loop) if op != loop]
    strange = [op.name for op in inside if not (op.name in _STRUCTURE or access_of(op) is not None or is_pure(op))]
    if strange:
        return f"its iterations do {strange[0]}"
    indices = list(body_of(loop).arguments)
    accesses = [found for op in inside if (found := access_of(op)) is not None]
    for root in _written(accesses):
        forms = [_form(one, indices[0]) for one in accesses if _base(one.buffer) == root]
        if None in forms or any(form != forms[0] for form in forms):
            return "its iterations store to elements that others load or store"
    return ""


def _written(accesses: list[MemoryAccess]) -> Iterator[ir.Value]:
    """Yields each buffer that is stored to, once."""
    found: list[ir.Value] = []
    for access in accesses:
        root = _base(access.buffer)
        if access.value is not None and root not in found:
            found.append(root)
            yield root


def _base(buffer: ir.Value) -> ir.Value:
    """Returns what a view is into. Bufferization lets no two of these share what one of them is written for."""
    op = made_by(buffer, "memref.subview", "memref.cast")
    while op is not None:
        buffer = op.operands[0]
        op = made_by(buffer, "memref.subview", "memref.cast")
    return buffer


def _form(access: MemoryAccess, index: ir.Value) -> _Form | None:
    """Returns how an access is to elements of one iteration only; None where that is not known.

    Accesses of one form are to the same elements, whichever iteration they are in; those of two forms may meet.
    """
    if not access.op.name.startswith("memref."):
        return None  # vectors reach beyond
    for axis, at in enumerate(access.at):
        own = _own(at, index)
        if own is not None:
            return access.buffer, axis, own
    return None


def _own(at: ir.Value, index: ir.Value) -> tuple[object, ...] | None:
    """Returns how a subscript has values in one iteration that it has in no other; None where that is not known."""
    if at == index:
        return ("index",)
    positions = _segment(at, index)
    if positions is not None:
        return "segment", positions
    total = made_by(at, "arith.addi")
    for start, column in permutations(total.operands) if total is not None else ():
        row = made_by(start, "arith.muli")
        bounds = _bounds(column)
        if row is None or bounds is None or constant_of(bounds[0]) != 0:
            continue
        for outer, length in permutations(row.operands):
            own = _own(outer, index)
            if own is not None and _is_same(bounds[1], length):  # outer * n + j, where a loop counts j from 0 to n
                return "row", own, constant_of(length) or length
    return None


def _is_same(value: ir.Value, other: ir.Value) -> bool:
    number = constant_of(value)
    return bool(value == other) or (number is not None and number == constant_of(other))


def _segment(at: ir.Value, index: ir.Value) -> object:
    """Returns the positions where a loop counts a subscript from positions[index] to positions[index + 1]; or None.

    Positions never fall, so that segments are apart.
    """
    bounds = _bounds(at)
    if bounds is None:
        return None
    begin, end = map(_loaded, bounds)
    if begin is None or end is None or begin.buffer != end.buffer or len(begin.at) != 1 or begin.at[0] != index:
        return None
    after = made_by(end.at[0], "arith.addi")
    if after is None or index not in list(after.operands):
        return None
    return begin.buffer if 1 in [constant_of(one) for one in after.operands] else None


def _bounds(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """Returns from where to where an `scf.for` counts by ones, if a value is its counter."""
    if not isinstance(value.owner, ir.Block):
        return None
    loop = value.owner.owner.operation
    if loop.name != "scf.for" or value != body_of(loop).arguments[0]:
        return None
    begin, end, step, *_ = loop.operands
    return (begin, end) if constant_of(step) == 1 else None


def _loaded(value: ir.Value) -> MemoryAccess | None:
    """Returns the load that an index was made of."""
    op = made_by(value, *_CASTS)
    while op is not None:
        value = op.operands[0]
        op = made_by(value, *_CASTS)
    load = made_by(value, "memref.load")
    return None if load is None else access_of(load)


def kept_reasons(module: ir.Module) -> list[str]:
    """Returns why loops of a module were kept on the host, each with its function."""
    found = []
    for function in module.body.operations:
        for op in walk(function.operation):
            if _KEPT in op.attributes:
                name = ir.StringAttr(function.operation.attributes["sym_name"]).value
                found.append(f"a loop of @{name} stays on the host: {ir.StringAttr(op.attributes[_KEPT]).value}")
    return found
