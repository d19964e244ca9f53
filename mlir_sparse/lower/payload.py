"""The scalar region of a `linalg.generic`, from an expression."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, assert_never

from mlir_sparse._mlir import bindings
from mlir_sparse.dtypes import DType
from mlir_sparse.kernel import depends_on
from mlir_sparse.lower import scalars
from mlir_sparse.lower.types import element_type
from mlir_sparse.notation import Access, Binary, BinaryOp, Call, Expr, Literal, Negate, Reduce, ReduceOp

__all__ = ["Arguments", "emit_payload"]

# Functions that the sparsifier knows to keep zeros, by kind of element type.
_KNOWN_FUNCTIONS = {
    "f": frozenset({"abs", "ceil", "floor", "sqrt", "expm1", "log1p", "sin", "tanh"}),
    "c": frozenset({"sqrt", "expm1", "log1p", "sin", "tanh"}),
    "i": frozenset[str](),
}


class Arguments(NamedTuple):
    """What a payload reads.

    Args:
        values: the block argument and element type of each access.
        sparse: the tensors that leave out zeros.
    """

    values: Mapping[Access, tuple[Any, DType]]
    sparse: Collection[str]


def emit_payload(body: Expr, arguments: Arguments, present: Any | None, combine: ReduceOp, dtype: DType) -> Any:
    """Emits a payload at the insertion point.

    Args:
        body: the computation, free of reductions.
        arguments: what it reads.
        present: the output's block argument where the payload accumulates, else None.
        combine: the operator of the accumulation.
        dtype: the element type computed in.

    Returns:
        the value to yield.
    """
    if present is None:
        return _emit(body, arguments, dtype)
    if isinstance(body, Negate) and combine is ReduceOp.SUM:
        # One subtraction, in place of an addition of a negative: the form the sparsifier knows.
        return scalars.binary(BinaryOp.SUB, present, _emit(body.operand, arguments, dtype), dtype)
    return scalars.reduce(combine, present, _emit(body, arguments, dtype), dtype)


def _emit(node: Expr, arguments: Arguments, dtype: DType) -> Any:
    match node:
        case Access():
            value, source = arguments.values[node]
            return scalars.cast(value, source, dtype)
        case Literal(value):
            return scalars.constant(value, dtype)
        case Negate(operand):
            return scalars.negate(_emit(operand, arguments, dtype), dtype)
        case Binary(op, left, right):
            operands = [_emit(left, arguments, dtype), _emit(right, arguments, dtype)]
            if _hides_zeros(node, arguments.sparse, dtype):
                return _overlap(operands, dtype, lambda a, b: scalars.binary(op, a, b, dtype))
            return scalars.binary(op, operands[0], operands[1], dtype)
        case Call(function, expressions):
            operands = [_emit(expression, arguments, dtype) for expression in expressions]
            if _hides_zeros(node, arguments.sparse, dtype):
                return _present(operands, dtype, lambda a: scalars.call(function, [a], dtype))
            return scalars.call(function, operands, dtype)
        case Reduce():
            raise AssertionError("reductions are loops of their own by now")
        case _:
            assert_never(node)


def _hides_zeros(node: Binary | Call, sparse: Collection[str], dtype: DType) -> bool:
    """Returns whether the sparsifier would not see that a node is zero where its sparse operands are.

    It knows multiplication, a few functions, and division by constants; the rest is said
    with the dialect's own operations.
    """
    if not depends_on(node, sparse):
        return False
    if isinstance(node, Call):
        return node.function not in _KNOWN_FUNCTIONS[dtype.kind]
    return node.op is BinaryOp.DIV and not isinstance(node.right, Literal)


def _overlap(operands: list[Any], dtype: DType, compute: Callable[[Any, Any], Any]) -> Any:
    """Emits `sparse_tensor.binary` that computes where both operands are, and is zero elsewhere."""
    return _semiring("sparse_tensor.binary", operands, dtype, 3, compute)


def _present(operands: list[Any], dtype: DType, compute: Callable[[Any], Any]) -> Any:
    """Emits `sparse_tensor.unary` that computes where the operand is, and is zero elsewhere."""
    return _semiring("sparse_tensor.unary", operands, dtype, 2, compute)


def _semiring(name: str, operands: list[Any], dtype: DType, regions: int, compute: Callable[..., Any]) -> Any:
    ir = bindings().ir
    kind = element_type(dtype)
    op = ir.Operation.create(name, results=[kind], operands=operands, regions=regions)
    block = op.regions[0].blocks.append(*[kind] * len(operands), arg_locs=[ir.Location.unknown()] * len(operands))
    with ir.InsertionPoint(block):
        ir.Operation.create("sparse_tensor.yield", operands=[compute(*block.arguments)])
    return op.result
