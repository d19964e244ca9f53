"""Text to level types: `compressed(nonunique)`, `structured[2, 4]`, `range[0, i + 1]`, and older spellings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlir_sparse.affine.affine_parser import parse_affine_expr, parse_integer
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS, LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import Brackets
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.older_level_types import note_older, take_older_level_type
from mlir_sparse.encoding.verify import level_type_fault
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Span

__all__ = ["parse_level_type"]

_FORMATS = {f.value: f for f in LevelFormat}
_PROPERTIES = {p.value: p for p in LevelProperty}
# An old property: it turned a compressed level into a loose_compressed one.
_HIGH = "high"


def parse_level_type(
    cursor: Cursor, dims: Mapping[str, int] | None = None, symbols: Mapping[str, int] | None = None
) -> LevelType:
    """Takes a level format, its parameters in brackets, and its properties.

    Args:
        cursor: where to read.
        dims: the position of each dimension name, for bounds.
        symbols: the position of each symbol name, likewise.

    Raises:
        EncodingSyntaxError: for an unknown format or property.
        EncodingError: for properties that the format does not have.

    >>> from mlir_sparse.errors import EncodingSyntaxError
    >>> from mlir_sparse.text.source_text import Source
    >>> print(parse_level_type(Cursor(Source("compressed(nonunique, high)", "encoding"), EncodingSyntaxError)))
    loose_compressed(nonunique)
    """
    start = cursor.token
    older = take_older_level_type(cursor)
    if older is not None and not cursor.at("("):
        return _checked(cursor, older, start.span)
    if older is None and start.kind is not TokenKind.NAME:
        rule = "expected valid level format (e.g. dense, compressed or singleton)"
        cursor.fail(f"{rule}, but got {start.describe()}")
    kind = older or _level_format(cursor, cursor.take(), dims or {}, symbols or {})
    words = _words(cursor)
    if _HIGH in words and kind.format not in (LevelFormat.COMPRESSED, LevelFormat.LOOSE_COMPRESSED):
        rule = "invalid level type: level format doesn't support the properties"
        cursor.fail(f"{rule}, but got {start.text}(high)", start.span.to(cursor.previous), EncodingError)
    properties = (*kind.properties, *(_PROPERTIES[word] for word in words if word != _HIGH))
    is_high = _HIGH in words
    kind = replace(kind, format=LevelFormat.LOOSE_COMPRESSED if is_high else kind.format, properties=properties)
    if is_high or older is not None:
        note_older(cursor, start.span.to(cursor.previous), kind.to_text())
    return _checked(cursor, kind, start.span)


def _checked(cursor: Cursor, kind: LevelType, start: Span) -> LevelType:
    if message := level_type_fault(kind):
        cursor.fail(message, start.to(cursor.previous), EncodingError)
    return kind


def _level_format(cursor: Cursor, word: Token, dims: Mapping[str, int], symbols: Mapping[str, int]) -> LevelType:
    """Returns the format that a word names, with its parameters."""
    if word.text not in _FORMATS:
        *others, last = (f"{name}{_sizes_text(kind)}" for name, kind in _FORMATS.items())
        known = f"{', '.join(others)} or {last}"
        cursor.fail(f"unknown level format: {word.text}, expected {known}", word.span)
    found = _FORMATS[word.text]
    n, m = _sizes(cursor) if _sizes_text(found) else (None, None)
    is_bounded = LEVEL_FUNCTIONS[found].brackets in (Brackets.NUMBERS, Brackets.EXPRESSIONS)
    interval = _interval(cursor, dims, symbols) if is_bounded and cursor.at("[") else None
    return LevelType(found, (), n, m, interval)


def _sizes_text(level_format: LevelFormat) -> str:
    """Returns the text of the sizes that a level format needs."""
    brackets = LEVEL_FUNCTIONS[level_format].brackets
    return brackets.value if brackets is Brackets.SIZES else ""


def _interval(cursor: Cursor, dims: Mapping[str, int], symbols: Mapping[str, int]) -> Interval:
    """Takes `[low, high]` or `[low]`; `?` is a stored bound."""
    cursor.expect("[")
    low = None if cursor.accept("?") else parse_affine_expr(cursor, dims, symbols)
    if cursor.accept("]"):
        return Interval(low, to_end=True)
    cursor.expect(",", "`,` or `]` in the bounds of a level, as [0, i + 1]")
    high = None if cursor.accept("?") else parse_affine_expr(cursor, dims, symbols)
    cursor.expect("]", "`]` after the bounds of a level, as [0, i + 1]")
    return Interval(low, high)


def _sizes(cursor: Cursor) -> tuple[int, int]:
    start = cursor.previous
    sizes: list[int] = []
    if cursor.accept("["):
        while not cursor.at("]"):
            if cursor.at("-"):
                cursor.fail("expected structured size to be >= 0, but got `-`")
            sizes.append(parse_integer(cursor, "valid integer for structured size"))
            if not cursor.accept(","):
                break
        cursor.expect("]", "`,` or `]` in structured n out of m")
    if len(sizes) != 2:
        cursor.fail(f"expected exactly 2 structured sizes, but got {len(sizes)}", start.to(cursor.previous))
    return sizes[0], sizes[1]


def _words(cursor: Cursor) -> list[str]:
    words: list[str] = []
    if not cursor.accept("(") or cursor.accept(")"):
        return words
    while True:
        token = cursor.token
        if token.kind is not TokenKind.NAME:
            rule = "expected valid level property (e.g. nonordered, nonunique or high)"
            cursor.fail(f"{rule}, but got {token.describe()}")
        if token.text not in _PROPERTIES and token.text != _HIGH:
            cursor.fail(f"unknown level property: {token.text}, expected nonunique, nonordered or soa")
        words.append(cursor.take().text)
        if not cursor.accept(","):
            break
    cursor.expect(")", "`,` or `)` in level property list")
    return words
