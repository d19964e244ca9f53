"""Expressions as sums of terms, each of which is one accumulation: what the sparsifier takes, and rules lead to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from mlir_sparse.classes import dataclass
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
from mlir_sparse.notation.entry_functions import is_about_entries
from mlir_sparse.spec import depends_on, vanishes

__all__ = [
    "SUMS",
    "Signed",
    "Term",
    "addends",
    "assigned",
    "combine",
    "has_reduction",
    "is_elementwise",
    "needs_distribution",
    "stored_indices",
    "total",
    "unites",
]

SUMS = (BinaryOp.ADD, BinaryOp.SUB)

# A term, and whether it is subtracted.
Signed = tuple[Expr, bool]


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


def is_elementwise(node: Expr) -> bool:
    """Returns whether an expression has neither reductions nor operators on entries."""
    return not any(isinstance(below, Reduce) or is_about_entries(below) for below in walk(node))


def addends(
    node: Expr, whole: Callable[[Expr], bool] = lambda _: False, flattens: Callable[[Expr], bool] = lambda _: True
) -> tuple[Signed, ...]:
    """Returns the operands of a chain of additions, each with whether it is subtracted.

    Args:
        node: the chain.
        whole: whether a part of it is one operand, additions and all.
        flattens: whether a sum with a sum in parentheses on its right, `a - (b - c)`, has the addends of both.

    >>> from mlir_sparse.notation import parse
    >>> [f"{'-' * negative}{part}" for part, negative in addends(parse("y(i) = a(i) - (b(i) - c(i))").value)]
    ['a(i)', '-b(i)', 'c(i)']
    """
    if whole(node):
        return ((node, False),)
    match node:
        case Negate(operand):
            return tuple((expr, not negative) for expr, negative in addends(operand, whole, flattens))
        case Binary(BinaryOp.ADD | BinaryOp.SUB as op, left, right):
            flip = op is BinaryOp.SUB
            kept = isinstance(right, Binary) and right.op in SUMS and not flattens(node)
            second = ((right, False),) if kept else addends(right, whole, flattens)
            return (*addends(left, whole, flattens), *((expr, negative != flip) for expr, negative in second))
        case _:
            return ((node, False),)


def combine(terms: Collection[Term]) -> Expr:
    """Returns the sum of elementwise terms as one expression."""
    return total((term.body, term.negative) for term in terms)


def total(terms: Iterable[Signed]) -> Expr:
    """Returns the sum of terms as one expression."""
    (first, negative), *rest = terms
    found: Expr = Negate(first) if negative else first
    for term, subtracted in rest:
        found = Binary(BinaryOp.SUB if subtracted else BinaryOp.ADD, found, term)
    return found


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
