"""The summation rule of index notation, written a second time as a reference for the compiler's."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    Fold,
    IndexVar,
    Negate,
    Reduce,
    ReduceOp,
    children,
)

__all__ = ["Sides", "with_sums"]


@dataclass(frozen=True)
class Sides:
    """The factors of a product that sums move into, and whether they move below a minus."""

    left: bool = True
    right: bool = True
    minus: bool = True


def with_sums(assignment: Assignment, sides: Sides = Sides()) -> Expr:  # noqa: B008 - it is frozen
    """Returns the right side with the implicit sums written out."""
    free = {variable.name for variable in assignment.target.indices}
    named = {
        AssignOp.MUL: ReduceOp.PRODUCT,
        AssignOp.MAX: ReduceOp.MAX,
        AssignOp.MIN: ReduceOp.MIN,
        AssignOp.OR: ReduceOp.OR,
        AssignOp.AND: ReduceOp.AND,
        AssignOp.REDUCE_ADD: ReduceOp.SUM,
        AssignOp.REDUCE_MUL: ReduceOp.PRODUCT,
        AssignOp.REDUCE_MAX: ReduceOp.MAX,
        AssignOp.REDUCE_MIN: ReduceOp.MIN,
        AssignOp.REDUCE_OR: ReduceOp.OR,
        AssignOp.REDUCE_AND: ReduceOp.AND,
    }
    names = _variables(assignment.value) - free
    if assignment.op in named:
        return _reduced(named[assignment.op], names, assignment.value)
    return _place(assignment.value, names, sides)


def _variables(node: Expr) -> frozenset[str]:
    """Returns the free variables of a node."""
    match node:
        case Access():
            return frozenset(variable.name for variable in node.indices)
        case Reduce(indices=indices, body=body) | Fold(indices=indices, body=body):
            return _variables(body) - {variable.name for variable in indices}
        case _:
            return frozenset().union(*map(_variables, children(node)))


def _reduced(op: ReduceOp, names: frozenset[str], body: Expr) -> Expr:
    return Reduce(op, tuple(map(IndexVar, sorted(names))), body) if names else body


def _place(node: Expr, names: frozenset[str], sides: Sides) -> Expr:
    """Moves the sum over `names` as deep as possible."""
    here = names & _variables(node)
    match node:
        case Negate(operand) if sides.minus:
            return Negate(_place(operand, here, sides))
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return replace(node, left=_place(left, here, sides), right=_place(right, here, sides))
        case Binary(BinaryOp.MUL | BinaryOp.DIV as op, left, right):
            alone = _variables(left) - _variables(right), _variables(right) - _variables(left)
            into_left = here & alone[0] if sides.left else frozenset()
            into_right = here & alone[1] if sides.right and op is BinaryOp.MUL else frozenset()
            inner = replace(node, left=_place(left, into_left, sides), right=_place(right, into_right, sides))
            return _reduced(ReduceOp.SUM, here - into_left - into_right, inner)
        case Reduce(ReduceOp.SUM, _, body):
            return replace(node, body=_place(body, here, sides))
        case Apply(operator, (mask, body)) if operator.name in ("if", "if not"):
            return replace(node, arguments=(mask, _place(body, here, sides)))
        case _:
            return _reduced(ReduceOp.SUM, here, node)
