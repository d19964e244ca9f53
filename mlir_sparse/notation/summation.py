"""Makes every reduction explicit: where the sum over a right-only variable stands.

The rule is Einstein's, made precise: a variable that only the right side has is
summed, as deep in the expression as it can go. TACO's index notation puts it the
same way for sums and products (Kjolstad et al. 2017, section 3).
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
from mlir_sparse.notation.masks import is_mask
from mlir_sparse.notation.operator import ARITHMETIC, Distribution
from mlir_sparse.notation.stored_entries import with_operators

__all__ = ["free_indices", "with_explicit_sums"]


def free_indices(node: Expr) -> tuple[IndexVar, ...]:
    """Returns the variables that a node uses and no reduction in it binds, in the order of the text.

    >>> i, j = IndexVar("i"), IndexVar("j")
    >>> free_indices(Reduce(ReduceOp.SUM, (j,), Access("A", (i, j))))
    (IndexVar(name='i'),)
    """
    if isinstance(node, Access):
        return node.indices
    bound = node.indices if isinstance(node, (Reduce, Fold)) else ()
    found = dict.fromkeys(index for child in children(node) for index in free_indices(child))
    return tuple(index for index in found if index not in bound)


def with_explicit_sums(assignment: Assignment, laws: Distribution = ARITHMETIC) -> Assignment:
    """Returns the assignment with a Reduce node wherever a variable is reduced.

    With `=` and `+=` a variable that only the right side has is summed where these steps lead:
    at `+` and `-` into each operand that uses it; at `*` and `/` into the one
    factor that uses it, or, where both do or a denominator does, around that
    product; around a function call, a comparison and logic; through a unary minus, and
    through an explicit sum, which commutes with it, but around any other reduction; inside a mask, but around it
    where the mask has the variable.
    Where products are not distributive over sums on the side of that factor, as under the semiring plus_pair, it
    stays around the product, and where a minus does not distribute, around the minus.

    `*=`, `max=`, `min=`, `or=` and `and=` reduce the whole right side by their operator, inside a mask what the
    mask has no variable of. So do `+=!`, `*=!`, `max=!`, `min=!`, `or=!` and `and=!`, which become `=`; `stored(...)`
    becomes an operator. The result never has them; the function changes nothing in an assignment that it returned.

    Args:
        assignment: the statement.
        laws: what its sums may move into.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> print(with_explicit_sums(parse("y(i) = b(i) - A(i,j) * x(j)")))
    y(i) = b(i) - sum(j : A(i,j) * x(j))
    >>> print(with_explicit_sums(parse("y(i) = b(i) * A(i,j)"), Distribution()))
    y(i) = sum(j : b(i) * A(i,j))
    """
    assignment = replace(assignment, value=with_operators(assignment.value))
    kept = assignment.target.indices
    reduced = tuple(index for index in free_indices(assignment.value) if index not in kept)
    named = assignment.op.reduction
    if named is None:
        return replace(assignment, value=_placed(assignment.value, reduced, laws))
    value = _reduced(named, assignment.value, reduced)
    if assignment.op.reads_target:
        return replace(assignment, value=value)
    if named.gives_truth and not reduced:  # nothing to reduce, but the result is a truth value all the same
        value = Binary(BinaryOp.NE, value, Literal(0), value.span)
    return replace(assignment, op=AssignOp.ASSIGN, value=value)


def _around(op: ReduceOp, body: Expr, indices: Collection[IndexVar]) -> Expr:
    ordered = tuple(index for index in free_indices(body) if index in indices)
    return Reduce(op, ordered, body, body.span) if ordered else body


def _reduced(op: ReduceOp, node: Expr, indices: Collection[IndexVar]) -> Expr:
    """Returns the whole right side reduced by an operator: of what a mask leaves, only that."""
    if not (isinstance(node, Apply) and is_mask(node)):
        return _around(op, node, indices)
    mask, body = node.arguments
    outer = _used(mask, indices)
    body = _reduced(op, body, [index for index in indices if index not in outer])
    return _around(op, replace(node, arguments=(mask, body)), outer)


def _used(node: Expr, indices: Collection[IndexVar]) -> tuple[IndexVar, ...]:
    return tuple(index for index in free_indices(node) if index in indices)


def _placed(node: Expr, indices: Collection[IndexVar], laws: Distribution) -> Expr:
    """Returns the node summed over those of the variables that it uses."""
    if not indices:
        return node

    def placed(child: Expr) -> Expr:
        return _placed(child, _used(child, indices), laws)

    match node:
        case Negate(operand) if laws.minus:
            return replace(node, operand=placed(operand))
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return replace(node, left=placed(left), right=placed(right))
        case Binary(BinaryOp.MUL | BinaryOp.DIV):
            return _placed_at_product(node, indices, laws)
        case Reduce(ReduceOp.SUM, _, body):
            return replace(node, body=placed(body))
        case Apply(_, (mask, body)) if is_mask(node):
            outer = _used(mask, indices)  # what is masked is summed: a mask decides about each value of its variables
            body = _placed(body, [index for index in indices if index not in outer], laws)
            return _around(ReduceOp.SUM, replace(node, arguments=(mask, body)), outer)
        case Access() | Literal() | Negate() | Binary() | Call() | Reduce() | Apply() | Fold():
            return _around(ReduceOp.SUM, node, indices)
        case _:
            assert_never(node)


def _placed_at_product(node: Binary, indices: Collection[IndexVar], laws: Distribution) -> Expr:
    left, right = _used(node.left, indices), _used(node.right, indices)
    # A sum cannot go into a denominator: 1/a + 1/b is not 1/(a + b).
    into_left = [index for index in left if laws.left and index not in right]
    into_right = [index for index in right if laws.right and index not in left and node.op is not BinaryOp.DIV]
    inner = replace(
        node,
        left=_placed(node.left, into_left, laws),
        right=_placed(node.right, into_right, laws),
    )
    return _around(ReduceOp.SUM, inner, [index for index in indices if index not in (*into_left, *into_right)])
