"""Arithmetic of truth values, rewritten as logic: `a + b` is `a | b`, `a * b` is `a & b`, as in NumPy.

All nodes of an expression compute in one type. But a sum of truth values inside a sum of numbers is no sum of numbers:
`a(i) + b(i) + x(i)` adds 1 where both a and b hold. As logic it keeps its type in any expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.notation import (
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Extreme,
    Fold,
    Literal,
    Reduce,
    ReduceOp,
    children,
    is_mask,
    rebuild,
    walk,
)
from mlir_sparse.spec.computed_type import gives_truth, result_dtype

__all__ = ["as_logic", "logic_of", "updates_numbers"]

_OPERATORS = {BinaryOp.ADD: BinaryOp.OR, BinaryOp.MUL: BinaryOp.AND}
_JOINING = {
    "max": BinaryOp.OR,
    "fmax": BinaryOp.OR,
    "bitwise_or": BinaryOp.OR,
    "min": BinaryOp.AND,
    "fmin": BinaryOp.AND,
    "bitwise_and": BinaryOp.AND,
}
_FUNCTIONS = {"bitwise_xor": "logical_xor", "invert": "logical_not"}
_UNCHANGED = frozenset({"abs", "real", "floor", "ceil", "round", "trunc", "relu"})
_REDUCTIONS = {ReduceOp.MAX: ReduceOp.OR, ReduceOp.MIN: ReduceOp.AND}
_ASSIGNMENTS = {
    AssignOp.ADD: AssignOp.OR,
    AssignOp.MUL: AssignOp.AND,
    AssignOp.MAX: AssignOp.OR,
    AssignOp.MIN: AssignOp.AND,
}


def as_logic(assignment: Assignment, dtypes: Mapping[str, DType]) -> Assignment:
    """Returns an assignment with logic in place of arithmetic of truth values.

    Args:
        assignment: the statement, every reduction explicit.
        dtypes: the element type of every tensor that it reads.

    >>> from mlir_sparse.notation import parse
    >>> print(as_logic(parse("y(i) = a(i) * b(i) + c(i)"), dict.fromkeys("abc", TRUTH)))
    y(i) = a(i) & b(i) | c(i)
    """
    value = logic_of(assignment.value, dtypes)
    op = assignment.op
    if op in _ASSIGNMENTS and dtypes[assignment.target.tensor] == result_dtype(value, dtypes) == TRUTH:
        op = _ASSIGNMENTS[op]
    return assignment if value is assignment.value and op is assignment.op else replace(assignment, op=op, value=value)


def updates_numbers(assignment: Assignment, dtypes: Mapping[str, DType]) -> Assignment:
    """Returns an assignment that reduces truth values into a target of numbers, with conversions to numbers.

    Reductions such as `min=` start from the identity of their type: the minimum of no truth values is true, but the
    minimum of no numbers must leave every number unchanged.

    Args:
        assignment: the statement as the user wrote it.
        dtypes: the element type of every tensor that it reads.

    >>> from mlir_sparse.notation import parse
    >>> print(updates_numbers(parse("y min= x(i) > 0"), {"x": DType("f64"), "y": DType("i32")}))
    y min= 1 * (x(i) > 0)
    """
    target = dtypes.get(assignment.target.tensor, TRUTH)
    if target == TRUTH:
        return assignment
    one = Literal(1 if target.is_integer else 1.0)
    match assignment.value:
        case value if assignment.op in (AssignOp.MIN, AssignOp.MAX):
            return replace(assignment, value=_as_numbers(value, one, dtypes))
        case Apply(_, (met, Fold(monoid, _, body) as fold)) as value if met == assignment.target and isinstance(
            monoid.identity, Extreme
        ):
            fold = replace(fold, body=_as_numbers(body, one, dtypes))
            return replace(assignment, value=replace(value, arguments=(met, fold)))
        case _:
            return assignment


def _as_numbers(node: Expr, one: Literal, dtypes: Mapping[str, DType]) -> Expr:
    if isinstance(node, Apply) and is_mask(node):
        mask, body = node.arguments
        return replace(node, arguments=(mask, _as_numbers(body, one, dtypes)))
    return Binary(BinaryOp.MUL, one, node, node.span) if result_dtype(node, dtypes) == TRUTH else node


def logic_of(node: Expr, dtypes: Mapping[str, DType]) -> Expr:
    """Returns an expression with logic in place of arithmetic of truth values; itself if it has none."""
    if TRUTH in dtypes.values() or any(map(gives_truth, walk(node))):
        return _logic(node, dtypes)
    return node


def _logic(node: Expr, dtypes: Mapping[str, DType]) -> Expr:
    below = children(node)
    operands = tuple(_logic(child, dtypes) for child in below)
    node = node if all(new is old for new, old in zip(operands, below, strict=True)) else rebuild(node, operands)
    match node:
        case Binary(op, left, right) if op in _OPERATORS and _are_truth(operands, dtypes):
            return Binary(_OPERATORS[op], left, right, node.span)
        case Call(function, (left, right)) if function in _JOINING and _are_truth(operands, dtypes):
            return Binary(_JOINING[function], left, right, node.span)
        case Call(function) if function in _FUNCTIONS and _are_truth(operands, dtypes):
            return replace(node, function=_FUNCTIONS[function])
        case Call(function, (operand,)) if function in _UNCHANGED and _are_truth(operands, dtypes):
            return operand
        case Reduce(op) if op in _REDUCTIONS and _are_truth(operands, dtypes):
            return replace(node, op=_REDUCTIONS[op])
        case _:
            return node


def _are_truth(nodes: tuple[Expr, ...], dtypes: Mapping[str, DType]) -> bool:
    """Returns whether all expressions are truth values."""
    # Check right operands first, which are short: chains grow to the left.
    return all(result_dtype(node, dtypes) == TRUTH for node in reversed(nodes))
