"""Makes every reduction explicit: places the sums over variables that only the right side has.

The rule is Einstein's, made precise: a variable that only the right side has is summed, as deep in the expression as it
can go. TACO's index notation puts it the same way for sums and products (Kjolstad et al. 2017, section 3).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    children,
)
from mlir_sparse.notation.laws import PLUS_TIMES, Law, holds
from mlir_sparse.notation.masks import condition_and_value, with_value
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.semiring import Semiring
from mlir_sparse.notation.stored_entries import with_operators

__all__ = ["free_indices", "with_explicit_sums"]


def free_indices(node: Expr) -> tuple[IndexVar, ...]:
    """Returns the free variables of a node in the order of the text: no reduction in it binds them.

    >>> i, j = IndexVar("i"), IndexVar("j")
    >>> free_indices(Reduce(ReduceOp.SUM, (j,), Access("A", (i, j))))
    (IndexVar(name='i'),)
    """
    if isinstance(node, Access):
        return node.indices
    if isinstance(node, (Reduce, Fold)):
        return tuple(index for index in free_indices(node.body) if index not in node.indices)
    found: list[IndexVar] = []
    for child in children(node):
        found += free_indices(child)
    return tuple(dict.fromkeys(found))


def with_explicit_sums(assignment: Assignment, ring: Semiring = PLUS_TIMES) -> Assignment:
    """Returns the assignment with a Reduce node wherever a variable is reduced.

    With `=` and `+=` the sum over a variable that only the right side has moves down. At `+` and `-` it moves into each
    operand that uses the variable. At `*` and `/` it moves into the one factor that uses it; it stays around the
    product where both do or a denominator does. It stays around function calls, comparisons and logic. It moves through
    a unary minus and through an explicit sum, which commutes with it, but stays around any other reduction. It moves
    into a mask, unless the mask has the variable. It also stays around a product that does not distribute over sums on
    that side, as under the semiring plus_pair, and around a minus that does not distribute.

    `*=`, `max=`, `min=`, `or=` and `and=` reduce the whole right side by their operator; variables that a mask does not
    have are reduced inside it. So do `+=!`, `*=!`, `max=!`, `min=!`, `or=!` and `and=!`, which become `=`;
    `stored(...)` becomes an operator. The function is idempotent.

    Args:
        assignment: the statement.
        ring: what `+` and `*` are; its laws say what sums may move into.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> from mlir_sparse.notation.semiring import semiring
    >>> print(with_explicit_sums(parse("y(i) = b(i) - A(i,j) * x(j)")))
    y(i) = b(i) - sum(j : A(i,j) * x(j))
    >>> print(with_explicit_sums(parse("y(i) = b(i) * A(i,j)"), semiring("plus_pair")))
    y(i) = sum(j : b(i) * A(i,j))
    """
    if ring is not PLUS_TIMES:
        return _explicit(assignment, ring)
    if assignment._explicit is None:
        object.__setattr__(assignment, "_explicit", _explicit(assignment, ring))
    assert assignment._explicit is not None
    return assignment._explicit


def _explicit(assignment: Assignment, ring: Semiring) -> Assignment:
    whole, kept = with_operators(assignment.value), assignment.target.indices
    reduced = tuple(index for index in free_indices(whole) if index not in kept)
    named = assignment.op.reduction
    if named is None:
        return replace(assignment, value=_placed(whole, reduced, ring))
    value = _reduced(named, whole, reduced)
    if assignment.op.reads_target:
        return replace(assignment, value=value)
    if named.gives_truth and not reduced:  # nothing to reduce, but the result is a truth value all the same
        value = Binary(BinaryOp.NE, value, Literal(0), value.span)
    return replace(assignment, op=AssignOp.ASSIGN, value=value)


def _reduce_over(op: ReduceOp, body: Expr, indices: Collection[IndexVar]) -> Expr:
    ordered = tuple(index for index in free_indices(body) if index in indices)
    return Reduce(op, ordered, body, body.span) if ordered else body


def _reduced(op: ReduceOp, node: Expr, indices: Collection[IndexVar]) -> Expr:
    """Returns the whole right side reduced by an operator; a mask limits the reduction to the values that it leaves."""
    found = condition_and_value(node)
    if found is None:
        return _reduce_over(op, node, indices)
    condition, body = found
    outer = _used(condition, indices)
    body = _reduced(op, body, [index for index in indices if index not in outer])
    return _reduce_over(op, with_value(node, body), outer)


def _used(node: Expr, indices: Collection[IndexVar]) -> tuple[IndexVar, ...]:
    return tuple(index for index in free_indices(node) if index in indices)


def _placed(node: Expr, indices: Collection[IndexVar], ring: Semiring) -> Expr:
    """Returns the node summed over those of `indices` that it uses."""
    if not indices:
        return node

    def placed(child: Expr) -> Expr:
        return _placed(child, _used(child, indices), ring)

    match node:
        case Negate(operand) if holds(Law.MINUS, ring):
            return rebuild(node, (placed(operand),))
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return rebuild(node, (placed(left), placed(right)))
        case Binary(BinaryOp.MUL | BinaryOp.DIV):
            return _placed_at_product(node, indices, ring)
        case Reduce(ReduceOp.SUM, _, body):
            return rebuild(node, (placed(body),))
        case Apply() if (found := condition_and_value(node)) is not None:
            condition, body = found
            outer = _used(condition, indices)  # it decides for each value of its variables: they are summed around it
            body = _placed(body, [index for index in indices if index not in outer], ring)
            return _reduce_over(ReduceOp.SUM, with_value(node, body), outer)
        case Access() | Literal() | Negate() | Binary() | Call() | Reduce() | Apply() | Fold():
            return _reduce_over(ReduceOp.SUM, node, indices)
        case _:
            assert_never(node)


def _placed_at_product(node: Binary, indices: Collection[IndexVar], ring: Semiring) -> Expr:
    left, right = _used(node.left, indices), _used(node.right, indices)
    # A sum cannot go into a denominator: 1/a + 1/b is not 1/(a + b).
    divides = node.op is BinaryOp.DIV
    into_left = [index for index in left if holds(Law.LEFT, ring) and index not in right]
    into_right = [index for index in right if holds(Law.RIGHT, ring) and index not in left and not divides]
    inner = rebuild(node, (_placed(node.left, into_left, ring), _placed(node.right, into_right, ring)))
    return _reduce_over(ReduceOp.SUM, inner, [index for index in indices if index not in (*into_left, *into_right)])
