"""Text to the map of an encoding, with every form of variable that the dialect has.

[c](i, j) -> (...)                                     symbols first
{il, jl}(i = il, j = jl) -> (il = i : ..., jl = j : ...)   levels declared first, inverse written out
(i : #sparse_tensor<slice(1, 4, ?)>, j) -> (...)       slices of dimensions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from mlir_sparse.affine import AffineExpr, AffineMap, parse_affine_expr
from mlir_sparse.affine.affine_parser import parse_integer
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_parser import parse_level_type
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Span

__all__ = ["ParsedMap", "parse_map"]


@dataclass(slots=True)
class ParsedMap:
    """The parts of a map, and the place of each in the text."""

    symbols: dict[str, int] = field(default_factory=dict)
    level_names: dict[str, int] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)
    inverse: list[AffineExpr | None] = field(default_factory=list)
    slices: list[DimSlice | None] = field(default_factory=list)
    levels: list[LevelSpec] = field(default_factory=list)
    spans: dict[tuple[str, int], Span] = field(default_factory=dict)

    @property
    def lvl_to_dim(self) -> AffineMap | None:
        """Returns the inverse map if it was written out for any dimension."""
        written = tuple(e for e in self.inverse if e is not None)
        return AffineMap(len(self.levels), len(self.symbols), written) if written else None


def parse_map(cursor: Cursor) -> ParsedMap:
    """Takes `[symbols] {levels} (dimensions) -> (levels)`; the first two may be absent.

    Raises:
        EncodingSyntaxError: for text that is no such map.
        EncodingError: for invalid level types and slices.
    """
    start = cursor.token.span
    parsed = ParsedMap()
    if cursor.at("["):
        _list(cursor, "[]", "symbol binding list", lambda: _bind(cursor, parsed, parsed.symbols))
    if cursor.at("{"):
        _list(cursor, "{}", "level declaration list", lambda: _bind(cursor, parsed, parsed.level_names))
    _list(cursor, "()", "dimension-specifier list", lambda: _parse_dim(cursor, parsed))
    cursor.expect("->")
    opening = cursor.token.span
    scope = dict(parsed.dims)
    _list(cursor, "()", "level-specifier list", lambda: _parse_level(cursor, parsed, scope))
    parsed.spans["map", 0] = start.to(cursor.previous)
    _check_level_count(cursor, parsed, opening)
    return parsed


def _list(cursor: Cursor, brackets: str, what: str, parse_item: Callable[[], None]) -> None:
    cursor.expect(brackets[0], f"`{brackets[0]}` of the {what}")
    if cursor.accept(brackets[1]):
        return
    parse_item()
    while cursor.accept(","):
        parse_item()
    cursor.expect(brackets[1], f"`,` or `{brackets[1]}` in {what}")


def _bind(cursor: Cursor, parsed: ParsedMap, names: dict[str, int]) -> None:
    token = cursor.expect_kind(TokenKind.NAME, "bare identifier")
    if any(token.text in taken for taken in (parsed.symbols, parsed.level_names, parsed.dims)):
        cursor.fail(f"redefinition of identifier '{token.text}'", token.span)
    names[token.text] = len(names)


def _parse_dim(cursor: Cursor, parsed: ParsedMap) -> None:
    start = cursor.token.span
    _bind(cursor, parsed, parsed.dims)
    expr: AffineExpr | None = None
    if cursor.accept("="):
        begin = cursor.token.span
        expr = parse_affine_expr(cursor, parsed.level_names, parsed.symbols)
        parsed.spans.setdefault(("lvlToDim", 0), begin.to(cursor.previous))
    parsed.inverse.append(expr)
    parsed.slices.append(_parse_slice(cursor) if cursor.accept(":") else None)
    parsed.spans["dim", len(parsed.slices) - 1] = start.to(cursor.previous)


def _parse_slice(cursor: Cursor) -> DimSlice:
    start = cursor.token
    if start.text != "#sparse_tensor" or cursor.peek(2).text != "slice":
        cursor.fail(f"expected SparseTensorDimSliceAttr, as #sparse_tensor<slice(0, ?, 1)>, but got {start.describe()}")
    cursor.take()
    for text in ("<", "slice", "("):
        cursor.expect(text)
    numbers = []
    for closing in (",", ",", ")"):
        numbers.append(parse_slice_number(cursor))
        cursor.expect(closing, f"`{closing}` in slice(offset, size, stride)")
    cursor.expect(">")
    try:
        return DimSlice(*numbers)
    except EncodingError as error:
        cursor.fail(error.message, start.span.to(cursor.previous), EncodingError)


def parse_slice_number(cursor: Cursor) -> int | None:
    """Takes an offset, size or stride: an integer, or `?` for None."""
    if cursor.accept("?"):
        return None
    if cursor.at("-"):
        cursor.fail("expect positive value or ? for slice offset/size/stride, but got `-`", error=EncodingError)
    return parse_integer(cursor, "an integer or `?`")


def _parse_level(cursor: Cursor, parsed: ParsedMap, scope: Mapping[str, int]) -> None:
    start = cursor.token
    name = _parse_level_name(cursor, parsed) if parsed.level_names else None
    expr = parse_affine_expr(cursor, scope, parsed.symbols)
    cursor.expect(":", "`:` and a level format")
    kind = parse_level_type(cursor, scope, parsed.symbols)
    parsed.spans["level", len(parsed.levels)] = start.span.to(cursor.previous)
    parsed.levels.append(LevelSpec(expr, kind, name))


def _parse_level_name(cursor: Cursor, parsed: ParsedMap) -> str:
    token: Token = cursor.expect_kind(TokenKind.NAME, "bare identifier")
    declared = parsed.level_names.get(token.text)
    if declared is None:
        cursor.fail(
            f"use of undeclared identifier '{token.text}', expected one of: {', '.join(parsed.level_names)}", token.span
        )
    if declared != len(parsed.levels):
        cursor.fail(
            f"Level-variable ordering mismatch. The variable '{token.text}' was forward-declared as the "
            f"{_nth(declared)} level; but is bound by the {_nth(len(parsed.levels))} specification.",
            token.span,
        )
    cursor.expect("=")
    return token.text


def _nth(number: int) -> str:
    return {1: "1st", 2: "2nd"}.get(number, f"{number}th")


def _check_level_count(cursor: Cursor, parsed: ParsedMap, opening: Span) -> None:
    declared, got = len(parsed.level_names), len(parsed.levels)
    if declared and declared != got:
        cursor.fail(
            "Level-rank mismatch between forward-declarations and specifiers. "
            f"Declared {declared} level-variables; but got {got} level-specifiers.",
            opening,
        )
