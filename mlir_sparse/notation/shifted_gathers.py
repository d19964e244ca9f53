"""Gathers with offsets: `T(I(i) + 1, j)`, `T(2*I(i) - 1)`.

A tensor of the places themselves stands for such a subscript: the access `I.at_1_1(i)`, which prints as `I(i) + 1`. So
a gather with an offset is planned as any other. Calls compute the places.
"""

from __future__ import annotations

from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Literal,
    Negate,
)
from mlir_sparse.notation.linear_subscript import LARGEST_INTEGER
from mlir_sparse.text.shifted_names import ShiftedGather, shifted_gather_of
from mlir_sparse.text.source_text import Span

__all__ = [
    "ShiftedGather",
    "is_shifted_gather",
    "shifted_access",
    "shifted_expression",
    "shifted_gather_of",
    "shifted_gathers",
]


def is_shifted_gather(name: str) -> bool:
    """Returns whether a tensor is one of places."""
    return shifted_gather_of(name) is not None


def shifted_gathers(assignment: Assignment) -> dict[str, ShiftedGather]:
    """Returns the tensors of places that a statement reads, by name.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> shifted_gathers(parse("y(i) = x(2*I(i) - 1)"))
    {'I.at_2_-1': ShiftedGather(tensor='I', factor=2, constant=-1)}
    """
    found = ((access.tensor, shifted_gather_of(access.tensor)) for access in assignment.reads)
    return {name: gather for name, gather in found if gather is not None}


def shifted_access(read: dict[IndexVar, Access], total: AffineSubscript, span: Span | None) -> Access | None:
    """Returns the subscript for a sum with an element of a tensor; None for one of another form.

    Args:
        read: by the variable that stands for it in the sum, an element.
        total: the sum.
        span: its place in the text.
    """
    if len(total.terms) != 1 or total.symbolic or total.terms[0][1] not in read or len(read) > 1:
        return None
    factor, variable = total.terms[0]
    access = read[variable]
    if (factor, total.constant) == (1, 0) or max(abs(factor), abs(total.constant)) > LARGEST_INTEGER:
        return access
    return Access(ShiftedGather(access.tensor, factor, total.constant).name, access.subscripts, span)


def shifted_expression(node: Expr) -> Access | None:
    """Returns the subscript that an expression of one element of a tensor and integers is; None for others.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> print(shifted_expression(parse("y(i) = 2 * I(i) - 1").value))
    2*I(i) - 1
    """
    found = _linear(node)
    if found is None:
        return None
    factor, access, constant = found
    if access is None or factor == 0:
        return None
    stands = IndexVar("")
    return shifted_access({stands: access}, AffineSubscript(((factor, stands),), constant), node.span)


def _linear(node: Expr) -> tuple[int, Access | None, int] | None:
    """Returns an expression as a factor, the element that it multiplies and a constant."""
    match node:
        case Access():
            return 1, node, 0
        case Literal(int(value)):
            return 0, None, value
        case Negate(operand):
            found = _linear(operand)
            return None if found is None else (-found[0], found[1], -found[2])
        case Binary(BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL as op, left, right):
            first, second = _linear(left), _linear(right)
            if first is None or second is None or (first[1] is not None and second[1] is not None):
                return None
            (a, access, b), (c, other, d) = first, second
            if op is BinaryOp.MUL:
                return a * d + b * c, access or other, b * d
            sign = -1 if op is BinaryOp.SUB else 1
            return a + sign * c, access or other, b + sign * d
        case _:
            return None
