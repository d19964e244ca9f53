"""The summation rule of index notation, written a second time to check the compiler's against."""

from __future__ import annotations

from dataclasses import replace

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

__all__ = ["with_sums"]


def with_sums(assignment: Assignment) -> Expr:
    """Returns the right side with the sums that index notation implies written out."""
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
    return _place(assignment.value, names)


def _variables(node: Expr) -> frozenset[str]:
    """Returns the names a node uses and does not bind."""
    match node:
        case Access():
            return frozenset(variable.name for variable in node.indices)
        case Reduce(indices=indices, body=body) | Fold(indices=indices, body=body):
            return _variables(body) - {variable.name for variable in indices}
        case _:
            return frozenset().union(*map(_variables, children(node)))


def _reduced(op: ReduceOp, names: frozenset[str], body: Expr) -> Expr:
    return Reduce(op, tuple(map(IndexVar, sorted(names))), body) if names else body


def _place(node: Expr, names: frozenset[str]) -> Expr:
    """Puts the sum over `names` as deep as it can go."""
    here = names & _variables(node)
    match node:
        case Negate(operand):
            return Negate(_place(operand, here))
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return replace(node, left=_place(left, here), right=_place(right, here))
        case Binary(BinaryOp.MUL | BinaryOp.DIV as op, left, right):
            both = here & _variables(right)
            if op is BinaryOp.MUL:
                both &= _variables(left)
            inner = replace(node, left=_place(left, here - both), right=_place(right, here - both))
            return _reduced(ReduceOp.SUM, both, inner)
        case Reduce(ReduceOp.SUM, _, body):
            return replace(node, body=_place(body, here))
        case Apply(operator, (mask, body)) if operator.name in ("if", "if not"):
            return replace(node, arguments=(mask, _place(body, here)))
        case _:
            return _reduced(ReduceOp.SUM, here, node)
