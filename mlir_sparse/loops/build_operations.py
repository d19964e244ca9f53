"""Builds operations of `arith`, `memref` and `scf` at the insertion point, by one word each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.loops.remarks import keep_name

__all__ = [
    "PREDICATES",
    "add",
    "alloca",
    "alloca_cell",
    "bits_of",
    "branch",
    "bytes_of",
    "compare",
    "conjunction",
    "constant",
    "cut",
    "element_of",
    "index_type",
    "integer",
    "is_float",
    "is_kept_rolled",
    "keep_rolled",
    "keep_scalar",
    "load",
    "loop",
    "minimum",
    "multiply",
    "operation",
    "prefer_registers",
    "repeated",
    "select",
    "size_of",
    "store",
    "subtract",
    "value_after",
    "widened",
    "width_of",
    "word_type",
]

_ANNOTATION = "loop_annotation"
_PASSED = "passthrough"

# What `arith.cmpi` calls its comparisons of integers: those with a sign begin with s.
PREDICATES = {"eq": 0, "ne": 1, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8}


def operation(name: str, result: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """Returns the result of an operation."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


def index_type() -> ir.Type:
    """Returns `index`."""
    return ir.IndexType.get()


def word_type() -> ir.Type:
    """Returns `i64`, the words that bits of a workspace are kept in."""
    return ir.IntegerType.get_signless(64)


def constant(value: int) -> ir.Value:
    """Returns a constant of type `index`."""
    return integer(value, index_type())


def integer(value: int, kind: ir.Type) -> ir.Value:
    """Returns a constant of an integer type."""
    return operation("arith.constant", kind, value=ir.IntegerAttr.get(kind, value))


def add(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the sum of two numbers, or vectors of them, of one type."""
    return operation("arith.addf" if is_float(left.type) else "arith.addi", left.type, left, right)


def multiply(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns a product of two integers of one type."""
    return operation("arith.muli", left.type, left, right)


def subtract(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the difference of two integers of one type."""
    return operation("arith.subi", left.type, left, right)


def select(condition: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns one of two values of one type; of vectors lane by lane, where the condition is a vector too."""
    return operation("arith.select", left.type, condition, left, right)


def minimum(left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the lesser of two counts."""
    return operation("arith.minui", left.type, left, right)


def bits_of(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns `andi`, `ori`, `xori`, `shli` or `shrui` of two integers of one type."""
    return operation(f"arith.{name}", left.type, left, right)


def compare(predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns the truth of a comparison of two integers, or vectors of them, of one type."""
    code = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), PREDICATES[predicate])
    truth = ir.IntegerType.get_signless(1)
    kind = ir.VectorType.get(left.type.shape, truth) if isinstance(left.type, ir.VectorType) else truth
    return operation("arith.cmpi", kind, left, right, predicate=code)


def conjunction(conditions: Sequence[ir.Value]) -> ir.Value:
    """Returns the truth of all conditions, of which there is one at least."""
    truth = conditions[0]
    for condition in conditions[1:]:
        truth = bits_of("andi", truth, condition)
    return truth


def is_float(kind: ir.Type) -> bool:
    """Returns whether a type is of floating point, or of vectors of it."""
    element = ir.VectorType(kind).element_type if isinstance(kind, ir.VectorType) else kind
    return isinstance(element, ir.FloatType)


def element_of(buffer: ir.Value) -> ir.Type:
    """Returns the element type of a memref."""
    return ir.MemRefType(buffer.type).element_type


def width_of(kind: ir.Type) -> int:
    """Returns how many bits a number of an integer or float type has."""
    if isinstance(kind, ir.IntegerType | ir.FloatType):
        return kind.width
    raise TypeError(f"expected a type of integers or floats, but got {kind}")


def bytes_of(kind: ir.Type) -> int:
    """Returns how many bytes an element of an array takes."""
    if isinstance(kind, ir.ComplexType):
        return 2 * bytes_of(kind.element_type)
    return width_of(kind) // 8


def load(buffer: ir.Value, *at: ir.Value) -> ir.Value:
    """Returns an element of a memref."""
    return operation("memref.load", element_of(buffer), buffer, *at)


def size_of(buffer: ir.Value) -> ir.Value:
    """Returns the number of elements of a memref of rank 1."""
    return operation("memref.dim", index_type(), buffer, constant(0))


def store(value: ir.Value, buffer: ir.Value, *at: ir.Value) -> None:
    """Stores an element of a memref."""
    ir.Operation.create("memref.store", operands=[value, buffer, *at])


def cut(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Returns an `index` as an integer of a width, its upper bits cut off; an `index` stays."""
    return value if value.type == kind else operation("arith.index_cast", kind, value)


def widened(value: ir.Value) -> ir.Value:
    """Returns an integer as an `index`, zero-extended as MLIR reads positions and coordinates."""
    return value if value.type == index_type() else operation("arith.index_castui", index_type(), value)


def alloca(kind: ir.Type) -> ir.Value:
    """Returns a memref of one element on the stack."""
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    return operation("memref.alloca", ir.MemRefType.get([1], kind), operandSegmentSizes=segments)


def alloca_cell(value: ir.Value) -> ir.Value:
    """Returns a memref on the stack that holds a value; LLVM keeps it in a register."""
    cell = alloca(value.type)
    store(value, cell, constant(0))
    return cell


def branch(
    condition: ir.Value,
    then: Callable[[], Sequence[ir.Value] | None],
    otherwise: Callable[[], Sequence[ir.Value] | None] | None = None,
    types: Sequence[ir.Type] = (),
) -> list[ir.Value]:
    """Writes an `scf.if`; each side returns what it yields, if anything.

    Returns:
        the results.
    """
    op = ir.Operation.create("scf.if", results=list(types), operands=[condition], regions=2)
    for region, side in zip(op.regions, (then, otherwise), strict=True):
        if side is not None:
            with ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield", operands=list(side() or ()))
    return list(op.results)


def loop(
    upper: ir.Value,
    start: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value] | None],
    lower: ir.Value | None = None,
    step: int | ir.Value = 1,
    like: ir.Operation | None = None,
) -> list[ir.Value]:
    """Writes an `scf.for`; the body takes the index and the carried values, and returns those.

    Args:
        upper: where it ends.
        start: the carried values before it.
        body: writes an iteration.
        lower: where it begins; 0 by default.
        step: how far it moves in an iteration.
        like: the loop that it is written for, if any: remarks name it so.

    Returns:
        the carried values after the loop.
    """
    kinds = [value.type for value in start]
    first = constant(0) if lower is None else lower
    move = constant(step) if isinstance(step, int) else step
    op = ir.Operation.create("scf.for", results=kinds, operands=[first, upper, move, *start], regions=1)
    if like is not None:
        keep_name(like, op)
    block = op.regions[0].blocks.append(index_type(), *kinds, arg_locs=[ir.Location.unknown()] * (len(kinds) + 1))
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=list(body(*block.arguments) or ()))
    return list(op.results)


def keep_rolled(loop: ir.Operation, scalar: bool = False) -> None:
    """Lets LLVM leave a loop as it is, where iterations written several times over would only be more to compile.

    Passes that make branches of loops yield what is of the LLVM dialect, by the name it has here.

    Args:
        loop: an `scf.for` or `scf.while`.
        scalar: whether its iterations are not to become lanes either.
    """
    vectors = ", vectorize = <disable = true>" if scalar else ""
    text = f"#llvm.loop_annotation<unroll = <disable = true>{vectors}>"
    loop.attributes[_ANNOTATION] = ir.Attribute.parse(text)


def is_kept_rolled(loop: ir.Operation) -> bool:
    """Returns whether `keep_rolled` was told of a loop."""
    return _ANNOTATION in loop.attributes


def keep_scalar(function: ir.Operation) -> None:
    """Lets LLVM look for no lanes in a function and its C interface: an eighth of its time where there are none.

    Args:
        function: a `func.func`.
    """
    # Both of LLVM's vectorizers leave alone what has this attribute; numbers that the code names stay where they are.
    _tell_llvm(function, ir.StringAttr.get("noimplicitfloat"))


def prefer_registers(function: ir.Operation, bits: int) -> None:
    """Lets LLVM make vectors as wide as a register is: of many makes it takes half, for loops that wait for memory.

    Args:
        function: a `func.func` whose loops compute more than they read.
        bits: the width of a register.
    """
    _tell_llvm(function, ir.ArrayAttr.get([ir.StringAttr.get("prefer-vector-width"), ir.StringAttr.get(str(bits))]))


def _tell_llvm(function: ir.Operation, attribute: ir.Attribute) -> None:
    told = list(ir.ArrayAttr(function.attributes[_PASSED])) if _PASSED in function.attributes else []
    function.attributes[_PASSED] = ir.ArrayAttr.get([*told, attribute])


def value_after(
    start: Sequence[ir.Value], holds: Callable[..., ir.Value], body: Callable[..., Sequence[ir.Value]]
) -> list[ir.Value]:
    """Writes an `scf.while`: as long as the condition on the carried values holds, the body makes new ones.

    Returns:
        the carried values after the loop.
    """

    def test(*reached: ir.Value) -> Sequence[ir.Value]:
        return [holds(*reached), *reached]

    return _while(start, test, body)


def repeated(start: Sequence[ir.Value], iteration: Callable[..., Sequence[ir.Value]]) -> list[ir.Value]:
    """Writes an `scf.while` that has an iteration at least.

    Args:
        start: the carried values before it.
        iteration: writes an iteration; returns whether there is another one, and the carried values after it.

    Returns:
        the carried values after the loop.
    """
    return _while(start, iteration, lambda *reached: reached)


def _while(
    start: Sequence[ir.Value], test: Callable[..., Sequence[ir.Value]], body: Callable[..., Sequence[ir.Value]]
) -> list[ir.Value]:
    kinds = [value.type for value in start]
    op = ir.Operation.create("scf.while", results=kinds, operands=list(start), regions=2)
    for region, end, write in zip(op.regions, ("scf.condition", "scf.yield"), (test, body), strict=True):
        block = region.blocks.append(*kinds, arg_locs=[ir.Location.unknown()] * len(kinds))
        with ir.InsertionPoint(block):
            ir.Operation.create(end, operands=list(write(*block.arguments)))
    return list(op.results)
