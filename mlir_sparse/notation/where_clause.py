"""The `where` clause: `kw in 0:2, kh in 0:KH, exists A(i)` (Vasilache et al. 2018, section 3).

clause      ::= `where` constraint (`,` constraint)*
constraint  ::= name `in` bound `:` bound | `exists` access
bound       ::= sum                              of sizes (`linear_parser`)
              | access ((`+` | `-`) integer)?    read from a tensor (`read_bounds`)

A size is a comprehension's name of an axis' extent or of an integer parameter.
"""

from __future__ import annotations

from mlir_sparse.notation.ast import Access, AffineSubscript, Binary, BinaryOp, Expr, IndexVar, Literal, Range
from mlir_sparse.notation.linear_parser import LinearParser, size
from mlir_sparse.notation.read_bounds import ReadRange
from mlir_sparse.notation.subscripts import parse_subscripts
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import TokenKind

__all__ = ["parse_where"]


def parse_where(cursor: Cursor) -> tuple[tuple[Range, ...], tuple[Access, ...], tuple[ReadRange, ...]]:
    """Takes a `where` clause, if there is one: its ranges, the accesses of its `exists`, and ranges that are read."""
    ranges: list[Range] = []
    exists: list[Access] = []
    read: list[ReadRange] = []
    if not cursor.accept("where"):
        return (), (), ()
    while True:
        if cursor.at("exists") and cursor.peek(1).kind is TokenKind.NAME and cursor.peek(1).text != "in":
            cursor.take()
            exists.append(_access(cursor))
        else:
            found = _range(cursor)
            (ranges if isinstance(found, Range) else read).append(found)  # type: ignore[arg-type]
        if not cursor.accept(","):
            return tuple(ranges), tuple(exists), tuple(read)


def _access(cursor: Cursor) -> Access:
    name = cursor.expect_kind(TokenKind.NAME, "a tensor")
    subscripts = parse_subscripts(cursor, name) if cursor.at("(", "[") else ()
    return Access(name.text, subscripts, name.span.to(cursor.previous))


def _range(cursor: Cursor) -> Range | ReadRange:
    name = cursor.expect_kind(TokenKind.NAME, "an index variable and its range, as in `k in 0:2`, or `exists A(i)`")
    cursor.expect("in", f"`in` and the range of `{name.text}`, as in `{name.text} in 0:2`")
    low = _bound(cursor, name.text)
    cursor.expect(":", f"`:` and the end of the range of `{name.text}`")
    high = _bound(cursor, name.text)
    index, span = IndexVar(name.text, name.span), name.span.to(cursor.previous)
    if isinstance(low, AffineSubscript) and isinstance(high, AffineSubscript):
        return Range(index, low, high, span)
    first, end = (_as_value(cursor, one) for one in (low, high))
    return ReadRange(index, None if first == Literal(0) else first, end, span)


def _as_value(cursor: Cursor, bound: AffineSubscript | Expr) -> Expr:
    if not isinstance(bound, AffineSubscript):
        return bound
    if bound.symbolic:
        cursor.fail("expected an integer beside a bound that is read from a tensor, but got a size", bound.span)
    return Literal(bound.constant, bound.span)


def _bound(cursor: Cursor, variable: str) -> AffineSubscript | Expr:
    if cursor.token.kind is TokenKind.NAME and cursor.peek(1).text in ("(", "["):
        return _read_bound(cursor, variable)
    start = cursor.token.span
    total = LinearParser(cursor, "a bound", lambda: _size(cursor, variable)).sum()
    return AffineSubscript((), total.constant, start.to(cursor.previous), total.symbolic)


def _read_bound(cursor: Cursor, variable: str) -> Expr:
    access = _access(cursor)
    sign = cursor.accept("+", "-")
    if sign is None:
        return access
    total = LinearParser(cursor, "a bound", lambda: _size(cursor, variable)).sum()
    offset = _as_value(cursor, AffineSubscript((), total.constant, sign.span.to(cursor.previous), total.symbolic))
    return Binary(BinaryOp.ADD if sign.text == "+" else BinaryOp.SUB, access, offset, sign.span.to(cursor.previous))


def _size(cursor: Cursor, variable: str) -> AffineSubscript:
    token = cursor.token
    if token.text in cursor.symbols:
        return size(cursor.take())
    sizes = f" or one of the sizes {', '.join(sorted(cursor.symbols))}" if cursor.symbols else ""
    way_out = "; only a comprehension `def ...` names sizes" if token.kind is TokenKind.NAME and not sizes else ""
    cursor.fail(f"expected an integer{sizes} in the range of `{variable}`, but got {token.describe()}{way_out}")
