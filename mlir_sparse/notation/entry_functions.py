"""Assignments on stored entries: those under a semiring, and operands of a user's operator.

Both are rewritten to operators and folds, so that the plan only has to know regions and monoids.
"""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.errors import NotationError
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
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    walk,
)
from mlir_sparse.notation.masks import MASK, SELECT, WITHOUT, condition_and_value, with_value
from mlir_sparse.notation.operator import Monoid, Operator
from mlir_sparse.notation.positional_products import POSITIONAL, position_of
from mlir_sparse.notation.scalar_functions import FUNCTIONS
from mlir_sparse.notation.semiring import MONOIDS, MULTIPLICATIONS, Semiring, semiring
from mlir_sparse.notation.summation import with_explicit_sums
from mlir_sparse.notation.tracing import operator

__all__ = ["COMBINING", "entries_of", "is_about_entries", "is_arithmetic", "lifted", "only_chooses", "under"]

_PLUS = MONOIDS["plus"]
_TIMES = MULTIPLICATIONS["times"]
_MINUS = operator(lambda a, b: a - b, name="minus", left="keep", right=lambda b: -b)
_NEGATIVE = operator(lambda a: -a, name="negative")
_SUMS = frozenset(one.name for one in (_PLUS.operator, _MINUS, _TIMES, _NEGATIVE))
_CHOICES = frozenset(one.name for one in (MASK, WITHOUT, SELECT)) | {"min", "max", "any", "first", "second"}
_OPS = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
COMBINING = {
    ReduceOp.PRODUCT: MONOIDS["times"],
    ReduceOp.MAX: MONOIDS["max"],
    ReduceOp.MIN: MONOIDS["min"],
    ReduceOp.OR: MONOIDS["or"],
    ReduceOp.AND: MONOIDS["and"],
}
"""What reductions but sums combine entries by."""


def is_about_entries(node: Expr) -> bool:
    """Returns whether a node's value depends on which entries are stored, and not only on their values."""
    return isinstance(node, (Apply, Fold))


def is_arithmetic(operator: Operator) -> bool:
    """Returns whether an operator stands for a part of a statement that computes in the statement's type.

    Such are `+`, `-` and `*`, also those of a semiring, masks, and functions that the statement's type decides on.

    Args:
        operator: an operator, or a region of one as an operator of its own.
    """
    if operator.dtype is not None:
        return False
    if operator.name in FUNCTIONS:
        known = FUNCTIONS[operator.name]
        if known.result == "context" and operator == _function(operator.name):
            return True
    if operator.name not in _SUMS | _CHOICES:
        return False
    regions = (operator.overlap, operator.left, operator.right)
    return all(map(_is_plain, (node for region in regions if region is not None for node in walk(region))))


def only_chooses(operator: Operator) -> bool:
    """Returns whether an operator gives one of its operands as it is, as `min` and masks do."""
    return operator.name in _CHOICES and is_arithmetic(operator)


def _is_plain(node: Expr) -> bool:
    match node:
        case Access() | Negate():
            return True
        case Binary(op):
            return op in _OPS
        case Call(function):
            return function in ("min", "max")
        case _:
            return False


def under(assignment: Assignment, chosen: Semiring) -> Assignment:
    """Returns an assignment in which the sums and products of a semiring are operators and folds.

    Args:
        assignment: the statement.
        chosen: the semiring, which gives `+` and `*` their meaning.

    Raises:
        NotationError: for operations that a semiring lacks: differences, quotients, other reductions.

    >>> from mlir_sparse.notation import parse
    >>> print(under(parse("y(i) = A(i,j) * x(j)"), semiring("min_plus")))
    y(i) = min(j : plus(A(i,j), x(j)))
    """
    if chosen == semiring("plus_times"):
        return _combined(assignment)
    explicit = with_explicit_sums(_named_sum(assignment), chosen)
    value = _under(explicit.value, chosen, assignment)
    if explicit.op is AssignOp.ADD or _adds(explicit.op.reduction, chosen):
        value = Apply(chosen.add.union, (assignment.target, value))
    elif explicit.op is AssignOp.MUL and chosen.multiply.name not in POSITIONAL:
        value = Apply(chosen.multiply, (assignment.target, value))
    elif explicit.op is not AssignOp.ASSIGN:
        value = _accumulated(explicit, value, chosen, assignment)
    if not (isinstance(value, Fold) and value.monoid == chosen.add):
        value = Fold(chosen.add, (), lifted(value, chosen.add))
    return replace(explicit, op=AssignOp.ASSIGN, value=value)


def _accumulated(explicit: Assignment, value: Expr, chosen: Semiring, assignment: Assignment) -> Expr:
    """Returns the target's entries combined with a semiring's value by another operator: `max=` under min_plus."""
    op = explicit.op.reduction
    monoid = COMBINING.get(op) if op in (ReduceOp.MIN, ReduceOp.MAX) else None
    if monoid is None:
        return _refuse(f"`{assignment.op.value}`", chosen, assignment)
    return Apply(monoid.union, (assignment.target, value))


def _adds(op: ReduceOp | None, chosen: Semiring) -> bool:
    """Returns whether a reduction is the addition of a semiring: `min=` under min_plus."""
    return op is not None and op is not ReduceOp.PRODUCT and COMBINING.get(op) == chosen.add


def _named_sum(assignment: Assignment) -> Assignment:
    """Returns the assignment with `=` in place of `+=!`: the summation rule sums the same variables."""
    return replace(assignment, op=AssignOp.ASSIGN) if assignment.op is AssignOp.REDUCE_ADD else assignment


def _under(node: Expr, chosen: Semiring, assignment: Assignment) -> Expr:
    def inner(below: Expr) -> Expr:
        return _under(below, chosen, assignment)

    match node:
        case Access() | Literal():
            return node
        case Binary(BinaryOp.ADD, left, right):
            return Apply(chosen.add.union, (inner(left), inner(right)), node.span)
        case Binary(BinaryOp.MUL, left, right) if chosen.multiply.name in POSITIONAL:
            product = Apply(MULTIPLICATIONS["pair"], (inner(left), inner(right)), node.span)
            return position_of(chosen.multiply, node, product, MULTIPLICATIONS["second"], assignment)
        case Binary(BinaryOp.MUL, left, right):
            return Apply(chosen.multiply, (inner(left), inner(right)), node.span)
        case Reduce(op, indices, body) if op is ReduceOp.SUM or _adds(op, chosen):
            return Fold(chosen.add, indices, lifted(inner(body), chosen.add), node.span)
        case Call(function, (operand,)):
            return Apply(_function(function), (inner(operand),), node.span)
        case Negate(operand):
            return Apply(_NEGATIVE, (inner(operand),), node.span)
        case Apply(known, (value, condition)) if known == SELECT:
            return replace(node, arguments=(inner(value), condition))
        case Apply(known, (mask, body)) if known in (MASK, WITHOUT):
            return replace(node, arguments=(mask, inner(body)))
        case Apply(_, arguments):
            return replace(node, arguments=tuple(map(inner, arguments)))
        case Fold(_, _, body):
            return replace(node, body=inner(body))
        case Binary(op):
            return _refuse(f"`{op.value}` in `{node}`", chosen, assignment, node)
        case Reduce(op):
            return _refuse(f"the reduction {op.value}", chosen, assignment, node)
        case Call(function):
            return _refuse(f"{function} of several operands", chosen, assignment, node)


def _refuse(what: str, chosen: Semiring, assignment: Assignment, node: Expr | None = None) -> Expr:
    raise NotationError(
        f"expected sums and products under the semiring {chosen.name}, but got {what}; "
        "pass an operator made by ms.operator for it",
        source=assignment.source,
        span=None if node is None else node.span,
    )


def lifted(node: Expr, monoid: Monoid) -> Expr:
    """Returns an expression as a monoid combines it: as a truth value for a monoid on truth values."""
    match node:
        case Apply() if (found := condition_and_value(node)) is not None:
            return with_value(node, lifted(found[1], monoid))
        case Fold(known) if known == monoid:
            return node
        case Apply(known) if _gives_truth(known):
            return node
        case _:
            return node if monoid.lift is None else Apply(monoid.lift, (node,))


def _gives_truth(known: Operator) -> bool:
    regions = [region for region in (known.overlap, known.left, known.right, known.absent) if region is not None]
    return all(isinstance(region, Binary) and region.op.gives_truth for region in regions)


def _function(name: str) -> Operator:
    argument = Access("a")
    return Operator(name, ("a",), Call(name, (argument,)))


def entries_of(node: Expr) -> Expr:
    """Returns an expression with its arithmetic as operators on entries, where the two agree.

    Sums have an entry where any addend has one, products where all factors have; a
    function that keeps zero has the entries of its operand. All else has an entry everywhere, and stays unchanged.

    >>> from mlir_sparse.notation import parse
    >>> print(entries_of(parse("y(i) = a(i) * b(i) + c(i)").value))
    plus(times(a(i), b(i)), c(i))
    """
    match node:
        case Binary(BinaryOp.ADD, left, right):
            return _applied(_PLUS.union, node, left, right)
        case Binary(BinaryOp.SUB, left, right):
            return _applied(_MINUS, node, left, right)
        case Binary(BinaryOp.MUL, left, right):
            return _applied(_TIMES, node, left, right)
        case Negate(operand):
            return _applied(_NEGATIVE, node, operand)
        case Call(function, (operand,)) if FUNCTIONS[function].zero_preserving:
            return _applied(_function(function), node, operand)
        case Reduce(ReduceOp.SUM, indices, body):
            return Fold(_PLUS, indices, entries_of(body), node.span)
        case Apply(known, (value, condition)) if known == SELECT:
            return replace(node, arguments=(entries_of(value), condition))
        case Apply(_, arguments):
            return replace(node, arguments=tuple(map(entries_of, arguments)))
        case Fold(monoid, _, body):
            return replace(node, body=lifted(entries_of(body), monoid))
        case _:
            return node


def _applied(known: Operator, node: Expr, *operands: Expr) -> Apply:
    return Apply(known, tuple(map(entries_of, operands)), node.span)


def _combined(assignment: Assignment) -> Assignment:
    """Returns an assignment that reduces masked entries; without any, the target's or the identity's value stays."""
    op = assignment.op.reduction
    monoid = None if op is None else COMBINING.get(op)
    if monoid is None or condition_and_value(assignment.value) is None:
        return assignment
    value = with_explicit_sums(assignment).value
    if isinstance(value, Reduce):
        value = Fold(monoid, value.indices, lifted(value.body, monoid), value.span)
    elif not assignment.op.reads_target:
        value = Fold(monoid, (), lifted(value, monoid))
    if assignment.op.reads_target:
        value = Apply(monoid.union, (assignment.target, value))
    return replace(assignment, op=AssignOp.ASSIGN, value=value)
