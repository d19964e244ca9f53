"""Operations of `arith`, `memref` and `scf` by one word each, written at the insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.loops.remarks import keep_name

__all__ = [
    "PREDICATES",
    "add",
    "alloca",
    "alloca_cell",
    "bits_of",
    "branch",
    "compare",
    "conjunction",
    "constant",
    "cut",
    "element_of",
    "index_type",
    "integer",
    "is_kept_rolled",
    "keep_rolled",
    "keep_scalar",
    "load",
    "loop",
    "minimum",
    "multiply",
    "operation",
    "size_of",
    "store",
    "value_after",
    "widened",
    "word_type",
]

_ANNOTATION = "loop_annotation"

# What `arith.cmpi` calls its comparisons of integers without a sign.
PREDICATES = {"eq": 0, "ne": 1, "ult": 6, "ule": 7, "ugt": 8}


def operation(name: str, result: Any, *operands: Any, **attributes: Any) -> Any:
    """Returns the result of an operation."""
    return bindings().ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


def index_type() -> Any:
    """Returns `index`."""
    return bindings().ir.IndexType.get()


def word_type() -> Any:
    """Returns `i64`, the words that bits of a workspace are kept in."""
    return bindings().ir.IntegerType.get_signless(64)


def constant(value: int) -> Any:
    """Returns a constant of type `index`."""
    return integer(value, index_type())


def integer(value: int, kind: Any) -> Any:
    """Returns a constant of an integer type."""
    return operation("arith.constant", kind, value=bindings().ir.IntegerAttr.get(kind, value))


def add(left: Any, right: Any) -> Any:
    """Returns a sum of two integers of one type."""
    return operation("arith.addi", left.type, left, right)


def multiply(left: Any, right: Any) -> Any:
    """Returns a product of two integers of one type."""
    return operation("arith.muli", left.type, left, right)


def minimum(left: Any, right: Any) -> Any:
    """Returns the lesser of two counts."""
    return operation("arith.minui", left.type, left, right)


def bits_of(name: str, left: Any, right: Any) -> Any:
    """Returns `andi`, `ori`, `xori`, `shli` or `shrui` of two integers of one type."""
    return operation(f"arith.{name}", left.type, left, right)


def compare(predicate: str, left: Any, right: Any) -> Any:
    """Returns the truth of a comparison of two integers of one type."""
    ir = bindings().ir
    code = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), PREDICATES[predicate])
    return operation("arith.cmpi", ir.IntegerType.get_signless(1), left, right, predicate=code)


def conjunction(conditions: Sequence[Any]) -> Any:
    """Returns the truth of all conditions, of which there is one at least."""
    truth = conditions[0]
    for condition in conditions[1:]:
        truth = bits_of("andi", truth, condition)
    return truth


def element_of(buffer: Any) -> Any:
    """Returns the element type of a memref."""
    return bindings().ir.MemRefType(buffer.type).element_type


def load(buffer: Any, at: Any) -> Any:
    """Returns an element of a memref of rank 1."""
    return operation("memref.load", element_of(buffer), buffer, at)


def size_of(buffer: Any) -> Any:
    """Returns the number of elements of a memref of rank 1."""
    return operation("memref.dim", index_type(), buffer, constant(0))


def store(value: Any, buffer: Any, at: Any) -> None:
    """Stores an element of a memref of rank 1."""
    bindings().ir.Operation.create("memref.store", operands=[value, buffer, at])


def cut(value: Any, kind: Any) -> Any:
    """Returns an `index` as an integer of a width, its upper bits cut off; an `index` stays."""
    return value if value.type == kind else operation("arith.index_cast", kind, value)


def widened(value: Any) -> Any:
    """Returns an integer as an `index`, zero-extended as MLIR reads positions and coordinates."""
    return value if value.type == index_type() else operation("arith.index_castui", index_type(), value)


def alloca(kind: Any) -> Any:
    """Returns a memref of one element on the stack."""
    ir = bindings().ir
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    return operation("memref.alloca", ir.MemRefType.get([1], kind), operandSegmentSizes=segments)


def alloca_cell(value: Any) -> Any:
    """Returns a memref on the stack that holds a value; LLVM keeps it in a register."""
    cell = alloca(value.type)
    store(value, cell, constant(0))
    return cell


def branch(
    condition: Any,
    then: Callable[[], Sequence[Any] | None],
    otherwise: Callable[[], Sequence[Any] | None] | None = None,
    types: Sequence[Any] = (),
) -> list[Any]:
    """Writes an `scf.if`; each side returns what it yields, if anything.

    Returns:
        the results.
    """
    ir = bindings().ir
    op = ir.Operation.create("scf.if", results=list(types), operands=[condition], regions=2)
    for region, side in zip(op.regions, (then, otherwise), strict=True):
        if side is not None:
            with ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield", operands=list(side() or ()))
    return list(op.results)


def loop(
    upper: Any,
    start: Sequence[Any],
    body: Callable[..., Sequence[Any] | None],
    lower: Any | None = None,
    step: int = 1,
    like: Any | None = None,
) -> list[Any]:
    """Writes an `scf.for`; the body takes the index and the carried values, and returns those.

    Args:
        upper: where it ends.
        start: the carried values before it.
        body: writes a turn.
        lower: where it begins; 0 by default.
        step: how far it moves in a turn.
        like: the loop that it is written for, if any: remarks name it so.

    Returns:
        the carried values after the loop.
    """
    ir = bindings().ir
    kinds = [value.type for value in start]
    first = constant(0) if lower is None else lower
    op = ir.Operation.create("scf.for", results=kinds, operands=[first, upper, constant(step), *start], regions=1)
    if like is not None:
        keep_name(like, op)
    block = op.regions[0].blocks.append(index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1))
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=list(body(*block.arguments) or ()))
    return list(op.results)


def keep_rolled(loop: Any, scalar: bool = False) -> None:
    """Lets LLVM leave a loop as it is, where turns written several times over would only be more to compile.

    Passes that make branches of loops hand on what is of the LLVM dialect, by the name it has here.

    Args:
        loop: an `scf.for` or `scf.while`.
        scalar: whether its turns are not to become lanes either.
    """
    vectors = ", vectorize = <disable = true>" if scalar else ""
    text = f"#llvm.loop_annotation<unroll = <disable = true>{vectors}>"
    loop.attributes[_ANNOTATION] = bindings().ir.Attribute.parse(text)


def is_kept_rolled(loop: Any) -> bool:
    """Returns whether `keep_rolled` was told of a loop."""
    return _ANNOTATION in loop.attributes


def keep_scalar(function: Any) -> None:
    """Lets LLVM look for no lanes in a function and its C interface: an eighth of its time where there are none.

    Args:
        function: a `func.func`.
    """
    ir = bindings().ir
    # Both of LLVM's vectorizers leave alone what has this attribute; numbers that the code names stay where they are.
    function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noimplicitfloat")])


def value_after(start: Sequence[Any], holds: Callable[..., Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """Writes an `scf.while`: as long as the condition on the carried values holds, the body makes new ones.

    Returns:
        the carried values after the loop.
    """
    ir = bindings().ir
    kinds = [value.type for value in start]
    op = ir.Operation.create("scf.while", results=kinds, operands=list(start), regions=2)
    before, after = (r.blocks.append(*kinds, arg_locs=[ir.Location.unknown()] * len(kinds)) for r in op.regions)
    with ir.InsertionPoint(before):
        ir.Operation.create("scf.condition", operands=[holds(*before.arguments), *before.arguments])
    with ir.InsertionPoint(after):
        ir.Operation.create("scf.yield", operands=list(body(*after.arguments)))
    return list(op.results)
