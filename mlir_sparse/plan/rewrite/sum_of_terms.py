"""Expressions as sums of terms, each of which is one accumulation.

The sparsifier takes `out + body` under one set of reductions. Anything else is
first brought to that form: additions are split, products are distributed over
additions where those cannot be co-iterated, and reductions are moved outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from mlir_sparse.notation import (
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Negate,
    Reduce,
    ReduceOp,
    accesses_of,
    free_indices,
    walk,
)
from mlir_sparse.spec import depends_on, vanishes

__all__ = [
    "Term",
    "addends",
    "assigned",
    "combine",
    "has_reduction",
    "needs_distribution",
    "stored_indices",
    "unites",
]


@dataclass(frozen=True, slots=True)
class Term:
    """One accumulation: a body, free of reductions, reduced over some variables.

    Args:
        body: the scalar computation.
        op: the operator of the reduction.
        indices: the variables reduced; none for an elementwise term.
        negative: whether the term is subtracted.
    """

    body: Expr
    op: ReduceOp = ReduceOp.SUM
    indices: tuple[IndexVar, ...] = ()
    negative: bool = False

    def negated(self) -> Term:
        """Returns the term with the other sign."""
        return replace(self, negative=not self.negative)

    @property
    def signed(self) -> Expr:
        """Returns the body with its sign."""
        return Negate(self.body) if self.negative else self.body

    @property
    def value(self) -> Expr:
        """Returns the whole term as an expression, sign aside."""
        return Reduce(self.op, self.indices, self.body) if self.indices else self.body


def has_reduction(node: Expr) -> bool:
    """Returns whether any node is a reduction."""
    return any(isinstance(below, Reduce) for below in walk(node))


def _never(_: Expr) -> bool:
    return False


def addends(
    node: Expr, whole: Callable[[Expr], bool] = _never, grouped: Callable[[Expr], bool] = _never
) -> tuple[tuple[Expr, bool], ...]:
    """Returns the operands of a chain of additions, each with whether it is subtracted.

    Args:
        node: the chain.
        whole: whether a part of it is one operand, additions and all.
        grouped: the same of a part in parentheses, as `b - c` of `a - (b - c)`.

    >>> from mlir_sparse.notation import parse
    >>> [f"{'-' * negative}{part}" for part, negative in addends(parse("y(i) = a(i) - (b(i) - c(i))").value)]
    ['a(i)', '-b(i)', 'c(i)']
    """
    if whole(node):
        return ((node, False),)
    match node:
        case Negate(operand):
            return tuple((expr, not negative) for expr, negative in addends(operand, whole, grouped))
        case Binary(BinaryOp.ADD | BinaryOp.SUB as op, left, right):
            flip = op is BinaryOp.SUB
            second = ((right, False),) if grouped(right) else addends(right, whole, grouped)
            return (*addends(left, whole, grouped), *((expr, negative != flip) for expr, negative in second))
        case _:
            return ((node, False),)


def combine(terms: Collection[Term]) -> Expr:
    """Returns the sum of elementwise terms as one expression."""
    first, *rest = terms
    total = first.signed
    for term in rest:
        total = Binary(BinaryOp.SUB if term.negative else BinaryOp.ADD, total, term.body)
    return total


def unites(node: Expr, sparse: Collection[str]) -> bool:
    """Returns whether an addition can be co-iterated: all operands sparse, over the same variables.

    The sparsifier crashes on the union of a sparse tensor with a value that does not
    vary along with it (`scalar_plus_sparse_segv.mlir`), or is not stored along with it.
    """
    parts = [expr for expr, _ in addends(node)]
    variables = {(frozenset(free_indices(part)), stored_indices(part, sparse)) for part in parts}
    return len(variables) == 1 and all(vanishes(part, sparse) for part in parts)


def stored_indices(node: Expr, sparse: Collection[str]) -> frozenset[IndexVar]:
    """Returns the variables that a node's sparse tensors are stored by."""
    return frozenset(index for access in accesses_of(node) if access.tensor in sparse for index in access.indices)


def needs_distribution(node: Expr, sparse: Collection[str]) -> bool:
    """Returns whether an addition below a product must be multiplied out."""
    return has_reduction(node) or (depends_on(node, sparse) and not unites(node, sparse))


def assigned(assignment: Assignment) -> Expr:
    """Returns what the target becomes, its present value written out."""
    target, value = assignment.target, assignment.value
    match assignment.op:
        case AssignOp.ADD:
            return Binary(BinaryOp.ADD, target, value)
        case AssignOp.MUL:
            return Binary(BinaryOp.MUL, target, value)
        case AssignOp.MAX:
            return Call("max", (target, value))
        case AssignOp.MIN:
            return Call("min", (target, value))
        case AssignOp.OR:
            return Binary(BinaryOp.OR, target, value)
        case AssignOp.AND:
            return Binary(BinaryOp.AND, target, value)
        case _:
            return value
