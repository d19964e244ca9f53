"""Nodes to text, with the fewest parentheses."""

from __future__ import annotations

import cmath
from math import copysign
from typing import assert_never

from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Apply,
    Assignment,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Range,
    Reduce,
    ReduceOp,
    Subscript,
)
from mlir_sparse.notation.index_values import is_index_vector
from mlir_sparse.notation.masks import is_mask
from mlir_sparse.notation.rebuild import substitute
from mlir_sparse.notation.scalar_functions import FUNCTIONS, STORED, is_misspelt
from mlir_sparse.notation.shifted_gathers import shifted_gather_of

__all__ = ["CALLED_NAMES", "to_text"]

# Names that make a call before `(`; a tensor with such a name is printed with brackets: `max[i]`.
CALLED_NAMES = frozenset((*FUNCTIONS, *(op.value for op in ReduceOp), "any", "all", "complex", "select"))

_MASKED, _OR, _AND, _COMPARISON, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)
_PRECEDENCE = {
    BinaryOp.OR: _OR,
    BinaryOp.AND: _AND,
    **{op: _COMPARISON for op in BinaryOp if op.compares},
    BinaryOp.ADD: _SUM,
    BinaryOp.SUB: _SUM,
    BinaryOp.MUL: _PRODUCT,
    BinaryOp.DIV: _PRODUCT,
}


def to_text(node: Assignment | Expr | Range | Subscript) -> str:
    """Returns a node as notation, which parses back to an equal node.

    Raises:
        NotationError: for a literal that no text can spell (infinities and NaN).

    >>> x = Access("x", (IndexVar("j"),))
    >>> to_text(Binary(BinaryOp.SUB, x, Binary(BinaryOp.SUB, x, Literal(1))))
    'x(j) - (x(j) - 1)'
    """
    match node:
        case Assignment():
            return _assignment(node)
        case Range(variable, low, high):
            return f"{variable.name} in {to_text(low)}:{to_text(high)}"
        case IndexVar(name):
            return name
        case AffineSubscript():
            return _affine(node)
        case Access():
            return _access(node)
        case Literal(value):
            return _literal(value)
        case Negate(operand):
            # `-2` is a literal; the negation of the literal 2 is `-(2)`.
            return "-" + _wrapped(operand, _precedence(operand) < _ATOM or isinstance(operand, Literal))
        case Binary(op, left, right):
            return _binary(op, left, right)
        case Call("logical_not", (operand,)):
            return "!" + _wrapped(operand, _precedence(operand) < _ATOM)
        case Call(function, arguments):
            return f"{function}({', '.join(to_text(argument) for argument in arguments)})"
        case Apply(operator, (mask, body)) if is_mask(node):
            return f"{to_text(body)} {operator.name} {to_text(mask)}"
        case Apply(operator, arguments) if operator.name == STORED and operator.overlap is not None:
            given = dict(zip(map(Access, operator.parameters), arguments, strict=True))
            return f"{STORED}({to_text(substitute(operator.overlap, given))})"
        case Apply(operator, arguments):
            return f"{operator.name}({', '.join(to_text(argument) for argument in arguments)})"
        case Fold(_, (), body):
            return to_text(body)
        case Fold(monoid, indices, body):
            return f"{monoid.name}({', '.join(index.name for index in indices)} : {to_text(body)})"
        case Reduce(op, indices, body):
            return f"{op.value}({', '.join(index.name for index in indices)} : {to_text(body)})"
        case _:
            assert_never(node)


def _assignment(node: Assignment) -> str:
    statement = f"{to_text(node.target)} {node.op.value} {to_text(node.value)}"
    clauses = [*map(to_text, node.ranges), *(f"exists {to_text(access)}" for access in node.exists)]
    return f"{statement} where {', '.join(clauses)}" if clauses else statement


def _precedence(node: Expr) -> int:
    match node:
        case Apply() if is_mask(node):
            return _MASKED
        case Binary(op):
            return _PRECEDENCE[op]
        case Negate() | Call("logical_not", (_,)):
            return _UNARY
        case Literal(value):
            return _UNARY if _literal(value).startswith("-") else _ATOM
        case _:
            return _ATOM


def _wrapped(node: Expr, parentheses: bool) -> str:
    text = to_text(node)
    return f"({text})" if parentheses else text


def _binary(op: BinaryOp, left: Expr, right: Expr) -> str:
    first, second = _PRECEDENCE[op], _precedence(right)
    first_text = _wrapped(left, _precedence(left) < first + op.compares)
    # All operators but comparisons group to the left. A sign on the right would parse bare, but `a - -b` reads badly.
    second_text = _wrapped(right, second <= first or (second == _UNARY and first >= _SUM))
    return f"{first_text} {op.value} {second_text}"


def _access(node: Access) -> str:
    if is_index_vector(node.tensor):
        (place,) = node.subscripts
        return _wrapped_subscript(place)
    if (shifted := shifted_gather_of(node.tensor)) is not None:
        return shifted.text(_access(Access(shifted.tensor, node.subscripts)))
    if not node.subscripts:
        return node.tensor
    subscripts = ",".join(to_text(subscript) for subscript in node.subscripts)
    # In parentheses a tensor subscripted by a tensor may be refused as a misspelt call: `sine(x(i))`.
    called = node.tensor in CALLED_NAMES or (node.gathers and is_misspelt(node.tensor))
    return f"{node.tensor}[{subscripts}]" if called else f"{node.tensor}({subscripts})"


def _wrapped_subscript(place: Subscript) -> str:
    """Returns a subscript as a value."""
    return f"({to_text(place)})" if isinstance(place, AffineSubscript) else to_text(place)


def _affine(node: AffineSubscript) -> str:
    products = [(c, (*names, *([v.name] if v else []))) for c, names, v in node.symbolic]
    products += [(c, (v.name,)) for c, v in node.terms]
    parts = [(c, "*".join(factors if abs(c) == 1 else (str(abs(c)), *factors))) for c, factors in products]
    if node.constant or not parts:
        parts.append((node.constant, str(abs(node.constant))))
    (first, text), *rest = parts
    signed = "-" + text if first < 0 else text
    return signed + "".join(f" {'-' if sign < 0 else '+'} {part}" for sign, part in rest)


def _literal(value: int | float | complex) -> str:
    if not isinstance(value, int) and not cmath.isfinite(value):
        raise NotationError(f"expected a finite number, but got {value!r}; pass it as a scalar tensor")
    if not isinstance(value, complex):
        return repr(value)
    # Python's `1+2j` is a sum here; only the imaginary part alone is one token.
    # Its minus, if any, also goes to the zero real part.
    alone = value.real == 0 and copysign(1, value.real) == copysign(1, value.imag)
    return f"{value.imag!r}j" if alone else f"complex({value.real!r}, {value.imag!r})"
