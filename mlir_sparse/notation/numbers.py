"""Numbers of the notation: integers, reals, and complex numbers as `2j` or `complex(1.0, 2.0)`."""

from __future__ import annotations

import cmath

from mlir_sparse.notation.ast import Literal
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind

__all__ = ["INTEGER_RANGE", "at_number", "integer_value", "parse_complex", "parse_number"]

# What the widest integer element types, i64 and u64, can hold.
INTEGER_RANGE = range(-(2**63), 2**64)
_SIGNED = range(-(2**63), 2**63)


def at_number(cursor: Cursor) -> bool:
    """Returns whether the next token is a number without a sign."""
    return cursor.token.kind in (TokenKind.INTEGER, TokenKind.REAL)


def integer_value(cursor: Cursor, token: Token, sign: int = 1, within: range = _SIGNED) -> int:
    """Returns the value of an integer token, which must fit in 64 bits with a sign, or in another range."""
    # Python refuses to convert thousands of digits, so count them first.
    if len(token.text) < 30:
        value = sign * int(token.text, 16 if token.text[:2] in ("0x", "0X") else 10)
        if value in within:
            return value
    return cursor.fail(f"expected an integer of 64 bits, but got `{token.text:.40}`; write it as a real", token.span)


def parse_number(cursor: Cursor, minus: Token | None = None) -> Literal:
    """Takes a number, negated if `minus`, the token before it, is one."""
    token = cursor.take()
    span = minus.span.to(token.span) if minus else token.span
    if token.kind is TokenKind.INTEGER:
        return Literal(integer_value(cursor, token, -1 if minus else 1, INTEGER_RANGE), span)
    value = complex(token.text) if token.text.endswith("j") else float(token.text)
    if not cmath.isfinite(value):
        cursor.fail(f"expected a number that fits in 64 bits, but got `{token.text:.40}`", token.span)
    return Literal(-value if minus else value, span)


def parse_complex(cursor: Cursor, name: Token) -> Literal:
    """Takes `(real, imaginary)` after the name `complex`."""
    cursor.expect("(")
    real = _component(cursor)
    cursor.expect(",", "`,` and the imaginary part")
    imaginary = _component(cursor)
    cursor.expect(")")
    return Literal(complex(real, imaginary), name.span.to(cursor.previous))


def _component(cursor: Cursor) -> float:
    minus = cursor.accept("-")
    if not at_number(cursor) or cursor.token.text.endswith("j"):
        cursor.fail(f"expected a real number, as in `complex(1.0, 2.0)`, but got {cursor.token.describe()}")
    value = parse_number(cursor, minus).value
    assert not isinstance(value, complex)
    return float(value)
