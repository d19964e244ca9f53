"""Text to level types: `compressed(nonunique)`, `structured[2, 4]`, `range[0, i + 1]`, and older spellings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlir_sparse.affine.affine_parser import parse_affine_expr, parse_integer
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS, LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import Brackets
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.verify import level_type_fault
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import TokenKind

__all__ = ["parse_level_type"]

_FORMATS = {f.value: f for f in LevelFormat}
_PROPERTIES = {p.value: p for p in LevelProperty}
# The published dialect documentation still has this name for `structured[2, 4]`.
_OLD_STRUCTURED = re.compile(r"block([0-9]{1,3})_([0-9]{1,3})")
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
    if start.kind is not TokenKind.NAME:
        rule = "expected valid level format (e.g. dense, compressed or singleton)"
        cursor.fail(f"{rule}, but got {start.describe()}")
    cursor.take()
    level_format, sizes = _format(cursor, start.text)
    is_bounded = LEVEL_FUNCTIONS[level_format].brackets in (Brackets.NUMBERS, Brackets.EXPRESSIONS)
    interval = _interval(cursor, dims or {}, symbols or {}) if is_bounded and cursor.at("[") else None
    words = _words(cursor)
    if _HIGH in words and level_format is LevelFormat.COMPRESSED:
        level_format = LevelFormat.LOOSE_COMPRESSED
    elif _HIGH in words and level_format is not LevelFormat.LOOSE_COMPRESSED:
        rule = "invalid level type: level format doesn't support the properties"
        cursor.fail(f"{rule}, but got {start.text}(high)", start.span.to(cursor.previous), EncodingError)
    properties = tuple(_PROPERTIES[word] for word in words if word != _HIGH)
    n, m = sizes or (None, None)
    kind = LevelType(level_format, properties, n, m, interval)
    if message := level_type_fault(kind):
        cursor.fail(message, start.span.to(cursor.previous), EncodingError)
    return kind


def _format(cursor: Cursor, word: str) -> tuple[LevelFormat, tuple[int, int] | None]:
    if old := _OLD_STRUCTURED.fullmatch(word):
        return LevelFormat.STRUCTURED, (int(old[1]), int(old[2]))
    if word not in _FORMATS:
        *others, last = (f"{name}{_sizes_text(kind)}" for name, kind in _FORMATS.items())
        known = f"{', '.join(others)} or {last}"
        cursor.fail(f"unknown level format: {word}, expected {known}", cursor.previous)
    level_format = _FORMATS[word]
    return level_format, _sizes(cursor) if _sizes_text(level_format) else None


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
