"""The `where` clause: `kw in 0:2, kh in 0:KH, exists A(i)` (Vasilache et al. 2018, section 3).

clause      ::= `where` constraint (`,` constraint)*
constraint  ::= name `in` bound `:` bound | `exists` access
bound       ::= sum                              of sizes (`linear_parser`)

A size is a comprehension's name of an axis' extent or of an integer parameter.
"""

from __future__ import annotations

from mlir_sparse.notation.ast import Access, AffineSubscript, IndexVar, Range
from mlir_sparse.notation.linear_parser import LinearParser, size
from mlir_sparse.notation.subscripts import parse_subscripts
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import TokenKind

__all__ = ["parse_where"]


def parse_where(cursor: Cursor) -> tuple[tuple[Range, ...], tuple[Access, ...]]:
    """Takes a `where` clause, if there is one: its ranges, and the accesses of its `exists`."""
    ranges: list[Range] = []
    exists: list[Access] = []
    if not cursor.accept("where"):
        return (), ()
    while True:
        if cursor.at("exists") and cursor.peek(1).kind is TokenKind.NAME and cursor.peek(1).text != "in":
            cursor.take()
            exists.append(_access(cursor))
        else:
            ranges.append(_range(cursor))
        if not cursor.accept(","):
            return tuple(ranges), tuple(exists)


def _access(cursor: Cursor) -> Access:
    name = cursor.expect_kind(TokenKind.NAME, "a tensor")
    subscripts = parse_subscripts(cursor, name) if cursor.at("(", "[") else ()
    return Access(name.text, subscripts, name.span.to(cursor.previous))


def _range(cursor: Cursor) -> Range:
    name = cursor.expect_kind(TokenKind.NAME, "an index variable and its range, as in `k in 0:2`, or `exists A(i)`")
    cursor.expect("in", f"`in` and the range of `{name.text}`, as in `{name.text} in 0:2`")
    low = _bound(cursor, name.text)
    cursor.expect(":", f"`:` and the end of the range of `{name.text}`")
    high = _bound(cursor, name.text)
    return Range(IndexVar(name.text, name.span), low, high, name.span.to(cursor.previous))


def _bound(cursor: Cursor, variable: str) -> AffineSubscript:
    start = cursor.token.span
    total = LinearParser(cursor, "a bound", lambda: _size(cursor, variable)).sum()
    return AffineSubscript((), total.constant, start.to(cursor.previous), total.symbolic)


def _size(cursor: Cursor, variable: str) -> AffineSubscript:
    token = cursor.token
    if token.text in cursor.symbols:
        return size(cursor.take())
    sizes = f" or one of the sizes {', '.join(sorted(cursor.symbols))}" if cursor.symbols else ""
    way_out = "; only a comprehension `def ...` names sizes" if token.kind is TokenKind.NAME and not sizes else ""
    cursor.fail(f"expected an integer{sizes} in the range of `{variable}`, but got {token.describe()}{way_out}")
