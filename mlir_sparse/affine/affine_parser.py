"""Text to affine expressions and maps: MLIR's grammar, with MLIR's wording in errors."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.affine.affine_expr import AffineExpr, AffineOp, Constant, Dim, Symbol
from mlir_sparse.affine.affine_map import AffineMap
from mlir_sparse.affine.simplify import binary, negate, subtract
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import EncodingSyntaxError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Source

__all__ = ["NamedMap", "parse_affine_expr", "parse_affine_map", "parse_integer", "take_affine_map"]

# MLIR keeps constants in 64 bits.
_INT64_MAX = 2**63 - 1
# Every operator may nest one deeper; more would let a text overflow Python's own stack later.
_MAX_OPERATORS = 100


def parse_integer(cursor: Cursor, rule: str = "an integer", too_large: str = "expected an integer of 64 bits") -> int:
    """Takes an unsigned integer literal of at most 64 bits, decimal or hexadecimal."""
    token = cursor.expect_kind(TokenKind.INTEGER, rule)
    is_hexadecimal = token.text[1:2] in ("x", "X")
    # Python refuses to convert thousands of digits, so count them first, without leading zeros.
    digits = token.text[2:] if is_hexadecimal else token.text.lstrip("0") or "0"
    value = int(digits, 16 if is_hexadecimal else 10) if len(digits) < 40 else _INT64_MAX + 1
    if value > _INT64_MAX:
        cursor.fail(f"{too_large}, but got a number of {len(token.text)} digits", token.span)
    return value


def parse_affine_expr(cursor: Cursor, dims: Mapping[str, int], symbols: Mapping[str, int]) -> AffineExpr:
    """Takes an affine expression.

    Args:
        cursor: where to read.
        dims: the position of each dimension name in scope.
        symbols: the position of each symbol name in scope.

    Raises:
        SyntaxError_: as the cursor's class, for text that is no affine expression.

    >>> cursor = Cursor(Source("3 * j + i floordiv 4", "map"), EncodingSyntaxError)
    >>> str(parse_affine_expr(cursor, {"i": 0, "j": 1}, {}))
    'd1 * 3 + d0 floordiv 4'
    """
    start = cursor.token.span
    expr = _ExprParser(cursor, dims, symbols).parse_sum()
    if any(not -_INT64_MAX <= value <= _INT64_MAX for value in expr.constants()):
        cursor.fail(f"constant too large for index after folding: {expr}", start.to(cursor.previous))
    return expr


def parse_affine_map(text: str) -> AffineMap:
    """Parses `(d0, d1)[s0] -> (d1, d0 + s0)`; the names are free.

    Raises:
        EncodingSyntaxError: for text that is no affine map.

    >>> print(parse_affine_map("(i, j) -> (j, i mod 2)"))
    (d0, d1) -> (d1, d0 mod 2)
    """
    cursor = Cursor(Source(text, "affine map"), EncodingSyntaxError)
    found = take_affine_map(cursor)
    cursor.expect_end()
    return found.map


@dataclass(frozen=True, slots=True)
class NamedMap:
    """An affine map, and the names of its dimensions and symbols in the text."""

    map: AffineMap
    dims: tuple[str, ...]
    symbols: tuple[str, ...] = ()


def take_affine_map(cursor: Cursor) -> NamedMap:
    """Takes `(d0, d1)[s0] -> (d1, d0 + s0)`; more text may follow it."""
    dims = _parse_names(cursor, "(", ")", {})
    symbols = _parse_names(cursor, "[", "]", dims) if cursor.at("[") else {}
    cursor.expect("->")
    cursor.expect("(")
    results: list[AffineExpr] = []
    while not cursor.at(")"):
        results.append(parse_affine_expr(cursor, dims, symbols))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return NamedMap(AffineMap(len(dims), len(symbols), tuple(results)), tuple(dims), tuple(symbols))


def _parse_names(cursor: Cursor, opening: str, closing: str, taken: Mapping[str, int]) -> dict[str, int]:
    names: dict[str, int] = {}
    cursor.expect(opening)
    while not cursor.at(closing):
        token = cursor.expect_kind(TokenKind.NAME, "bare identifier")
        if token.text in names or token.text in taken:
            cursor.fail(f"redefinition of identifier '{token.text}'", token.span)
        names[token.text] = len(names)
        if not cursor.accept(","):
            break
    cursor.expect(closing)
    return names


class _ExprParser:
    """Recursive descent over one expression; `*` and the divisions bind tighter than `+` and `-`."""

    def __init__(self, cursor: Cursor, dims: Mapping[str, int], symbols: Mapping[str, int]) -> None:
        self._cursor = cursor
        self._dims = dims
        self._symbols = symbols
        self._operators = 0

    def parse_sum(self) -> AffineExpr:
        left = self._parse_product()
        while (sign := self._cursor.accept("+", "-")) is not None:
            self._count(sign)
            right = self._parse_product(after=sign)
            left = binary(AffineOp.ADD, left, right) if sign.text == "+" else subtract(left, right)
        return left

    def _parse_product(self, after: Token | None = None) -> AffineExpr:
        left = self._parse_operand(after)
        while (sign := self._cursor.accept("*", "floordiv", "ceildiv", "mod")) is not None:
            self._count(sign)
            op, right = AffineOp(sign.text), self._parse_operand(sign)
            self._check_affine(op, left, right, sign)
            left = binary(op, left, right)
        return left

    def _parse_operand(self, after: Token | None = None) -> AffineExpr:
        cursor = self._cursor
        token = cursor.token
        if token.kind is TokenKind.INTEGER:
            return Constant(parse_integer(cursor, too_large="constant too large for index"))
        if token.kind is TokenKind.NAME:
            return self._parse_name()
        if minus := cursor.accept("-"):
            self._count(minus)
            return negate(self._parse_operand(minus))
        if opening := cursor.accept("("):
            self._count(opening)
            inner = self.parse_sum()
            cursor.expect(")")
            return inner
        rule = f"missing right operand of binary operator {after.text}" if after else "expected affine expression"
        cursor.fail(f"{rule}, but got {token.describe()}")

    def _parse_name(self) -> AffineExpr:
        token = self._cursor.take()
        if token.text in self._dims:
            return Dim(self._dims[token.text])
        if token.text in self._symbols:
            return Symbol(self._symbols[token.text])
        declared = ", ".join([*self._dims, *self._symbols]) or "none"
        self._cursor.fail(f"use of undeclared identifier '{token.text}', expected one of: {declared}", token.span)

    def _check_affine(self, op: AffineOp, left: AffineExpr, right: AffineExpr, sign: Token) -> None:
        if right.is_symbolic or (op is AffineOp.MUL and left.is_symbolic):
            return
        if op is AffineOp.MUL:
            rule = "at least one of the multiply operands has to be either a constant or symbolic"
        else:
            rule = f"right operand of {op.value} has to be either a constant or symbolic"
        self._cursor.fail(f"non-affine expression: {rule}", sign.span)

    def _count(self, token: Token) -> None:
        self._operators += 1
        if self._operators > _MAX_OPERATORS:
            self._cursor.fail(
                f"expected at most {_MAX_OPERATORS} operators and parentheses in one expression, but got more",
                token.span,
            )
