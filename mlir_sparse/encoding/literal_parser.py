"""Text to typed literals: `1 : i32`, `0x7FC0 : bf16`, `true`, `#complex.number<:f64 1.0, 0.0>`."""

from __future__ import annotations

from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding.typed_literal import FLOAT_TYPES, TypedValue
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind

__all__ = ["parse_typed_value"]


def parse_typed_value(cursor: Cursor, key: str) -> TypedValue:
    """Takes the literal of `key`, with its type if that is written (else i64 or f64).

    Raises:
        EncodingSyntaxError: for text that is no number.
        EncodingError: for a number out of its type's range.
    """
    start = cursor.token
    try:
        if start.text == "#complex.number":
            return _parse_complex(cursor)
        if word := cursor.accept("true", "false"):
            return TypedValue.of(word.text == "true", "i1")
        return _parse_number(cursor, key)
    except EncodingError as error:
        if error.source is not None:
            raise
        cursor.fail(error.message, start.span.to(cursor.previous), EncodingError)


def _parse_number(cursor: Cursor, key: str) -> TypedValue:
    minus = cursor.accept("-")
    token = _take_number(cursor, f"a numeric value for {key}")
    sign = "-" if minus else ""
    if not cursor.accept(":"):
        return TypedValue.of(float(sign + token.text) if _is_real(token) else _integer(sign, token))
    dtype = cursor.expect_kind(TokenKind.NAME, "a type after `:`").text
    if dtype in FLOAT_TYPES:
        return TypedValue.of_bits(_float_bits(sign, token, dtype), dtype)
    return TypedValue.of(float(sign + token.text) if _is_real(token) else _integer(sign, token), dtype)


def _parse_complex(cursor: Cursor) -> TypedValue:
    start = cursor.take()
    for text in ("<", ":"):
        cursor.expect(text)
    dtype = cursor.expect_kind(TokenKind.NAME, "a floating point type").text
    if dtype not in FLOAT_TYPES:
        cursor.fail(f"expected a floating point type of {', '.join(FLOAT_TYPES)}, but got {dtype}", cursor.previous)
    bits = []
    for closing in (",", ">"):
        sign = "-" if cursor.accept("-") else ""
        bits.append(_part_bits(sign, _take_number(cursor, "a floating point literal"), dtype))
        cursor.expect(closing)
    value = TypedValue.of_complex(bits[0], bits[1], dtype)
    if cursor.accept(":"):
        _expect_type(cursor, value, start)
    return value


def _expect_type(cursor: Cursor, value: TypedValue, start: Token) -> None:
    first = cursor.token
    written = ""
    while cursor.at("complex", "<", ">", *FLOAT_TYPES) and written != value.type:
        written += cursor.take().text
    if written != value.type:
        got = written or first.describe()
        cursor.fail(f"expected type {value.type} for {value.literal}, but got {got}", start.span.to(cursor.previous))


def _take_number(cursor: Cursor, rule: str) -> Token:
    token = cursor.token
    is_number = token.kind in (TokenKind.INTEGER, TokenKind.REAL) and not token.text.endswith("j")
    # Python refuses to convert thousands of digits.
    if not is_number or (token.kind is TokenKind.INTEGER and len(token.text) > 1000):
        cursor.fail(f"expected {rule}, but got {token.describe()}")
    return cursor.take()


def _is_real(token: Token) -> bool:
    return token.kind is TokenKind.REAL


def _is_hexadecimal(token: Token) -> bool:
    return token.text[:2] in ("0x", "0X")


def _integer(sign: str, token: Token) -> int:
    value = int(token.text, 16 if _is_hexadecimal(token) else 10)
    return -value if sign else value


def _part_bits(sign: str, token: Token, dtype: str) -> int:
    """Reads a part of a complex number; for parts of any type bits are those of an f64, as in MLIR."""
    if _is_real(token):
        return _float_bits(sign, token, dtype)
    whole = TypedValue.of_bits(_float_bits(sign, token, REAL.mlir), REAL.mlir)
    assert isinstance(whole.value, float)
    return TypedValue.bits_of(whole.value, dtype)


def _float_bits(sign: str, token: Token, dtype: str) -> int:
    if _is_real(token):
        return TypedValue.bits_of(float(sign + token.text), dtype)
    if not _is_hexadecimal(token):
        raise EncodingError(
            f"unexpected decimal integer literal for a floating point value: {token.text}, write {token.text}.0"
        )
    if sign:
        raise EncodingError(f"hexadecimal float literal should not have a leading minus, but got -{token.text}")
    return _integer("", token)
