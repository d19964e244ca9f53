"""Loops that reach beyond a tensor's edges: what they add up there must be nothing.

Blocks and diagonals hold zeros past the last row and column, and arrays are given zeros as far. A product of both is
zero there; but zero times infinity, over zero, or times the logarithm of zero is not, and is left out by a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from math import isfinite

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Call, Expr, IndexVar, Literal, Negate, Subscript, accesses_of
from mlir_sparse.plan.plan_steps import Frame
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.spec import vanishes

__all__ = ["within_edges"]


def within_edges(body: Expr, target: Access, frames: Sequence[Frame], values: Values) -> Expr:
    """Returns a payload that is zero beyond the edges of the tensors it reads.

    Args:
        body: the payload, zero where its sparse operand is.
        target: the result; what it has beyond its own edges is dropped, and may be anything.
        frames: the variables that are sums of levels.
        values: the program under construction; gets the arrays that say what is inside.
    """
    types = values.mapping()
    reaching = _reaching(body, frames, types)
    exact = values.dtype.is_integer
    doubtful = [s for s in reaching if s not in target.subscripts and not _is_zero(body, s, types, exact)]
    if not doubtful:
        return body
    conditions: list[Expr] = [
        Binary(BinaryOp.NE, Access(values.inside(reaching[s]), (s,)), Literal(0)) for s in doubtful
    ]
    inside = reduce(lambda left, right: Binary(BinaryOp.AND, left, right), conditions)
    return Call("where", (inside, body, Literal(0)))


def _reaching(body: Expr, frames: Sequence[Frame], types: Mapping[str, TensorType]) -> Mapping[Subscript, IndexVar]:
    """Returns the subscripts that run beyond edges, and the variable that each is."""
    found: dict[Subscript, IndexVar] = {
        frame.subscript: frame.variable for frame in frames if not _ends_even(types[frame.operand], frame.dim)
    }
    for access in accesses_of(body):
        kind = types[access.tensor]
        if kind.encoding is None or frames:
            continue
        for dim, subscript in enumerate(access.subscripts):
            if isinstance(subscript, IndexVar) and kind.encoding.block_of(dim) > 1 and not _ends_even(kind, dim):
                found[subscript] = subscript
    return found


def _ends_even(kind: TensorType, dim: int) -> bool:
    """Returns whether a dimension is known to be a number of whole blocks."""
    size = kind.shape[dim]
    assert kind.encoding is not None
    block = kind.encoding.block_of(dim)
    return size is not None and block > 1 and size % block == 0


def _is_zero(node: Expr, beyond: Subscript, types: Mapping[str, TensorType], exact: bool) -> bool:
    """Returns whether a payload is surely zero where a subscript is beyond the edges: `0 * w` need not be.

    Args:
        node: the payload, or a part of it.
        beyond: the subscript.
        types: the types of all values.
        exact: whether it computes in integers, of which none is infinite.
    """

    def zero(part: Expr) -> bool:
        return _is_zero(part, beyond, types, exact)

    match node:
        case Access(tensor, subscripts):
            return types[tensor].encoding is not None or beyond in subscripts
        case Literal(value):
            return value == 0
        case Negate(operand):
            return zero(operand)
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return zero(left) and zero(right)
        case Binary(BinaryOp.MUL, left, right):
            factors = (left, right)
            if exact:
                return any(map(zero, factors))
            return any(map(zero, factors)) and all(zero(factor) or _is_finite(factor) for factor in factors)
        case Binary(BinaryOp.DIV, left, right):
            return zero(left) and (exact or (_is_finite(right) and not _is_zero(right, beyond, types, exact)))
        case Call(_, arguments) if all(map(zero, arguments)):
            return vanishes(node, _zeros(arguments))
        case _:
            return False


def _zeros(arguments: Collection[Expr]) -> frozenset[str]:
    return frozenset(access.tensor for argument in arguments for access in accesses_of(argument))


def _is_finite(node: Expr) -> bool:
    match node:
        case Literal(value):
            return isinstance(value, int | float) and isfinite(value)
        case Negate(operand):
            return _is_finite(operand)
        case _:
            return False
