"""Level types as LLVM 13 to 18 spelled them: `compressed-nu`, `compressed_hi`, `block2_4`."""

from __future__ import annotations

import re

from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.lexer import TokenKind
from mlir_sparse.text.source_text import Span

__all__ = ["note_older", "older_level_type", "take_older_level_type"]

_TODAY = frozenset(one.value for one in LevelFormat)
_SUFFIXES = {"nu": LevelProperty.NONUNIQUE, "no": LevelProperty.NONORDERED}
_HIGH = "hi"
_FORMATS = {one.value: one for one in (LevelFormat.DENSE, LevelFormat.COMPRESSED, LevelFormat.SINGLETON)}
_FORMATS |= {"loose_compressed": LevelFormat.LOOSE_COMPRESSED, "loose-compressed": LevelFormat.LOOSE_COMPRESSED}
_WORD = re.compile(rf"({'|'.join(_FORMATS)})((?:[-_](?:nu|no|hi))*)")
# `compressed24` in LLVM 17, `block2_4` in 18; the published documentation of the dialect still has the latter.
_STRUCTURED = re.compile(r"compressed([0-9])([0-9])|block([0-9]{1,3})_([0-9]{1,3})")


def older_level_type(word: str) -> LevelType | None:
    """Returns the level type that a word meant in any release since LLVM 13; None for any other word.

    >>> print(older_level_type("compressed-hi-nu"), older_level_type("block2_4"), older_level_type("csr"))
    loose_compressed(nonunique) structured[2, 4] None
    """
    if sizes := _STRUCTURED.fullmatch(word):
        n, m = (int(digits) for digits in sizes.groups() if digits is not None)
        return LevelType(LevelFormat.STRUCTURED, n=n, m=m)
    found = _WORD.fullmatch(word)
    if found is None:
        return None
    suffixes = re.split("[-_]", found[2])[1:]
    level_format = _FORMATS[found[1]]
    if _HIGH in suffixes:
        if level_format not in (LevelFormat.COMPRESSED, LevelFormat.LOOSE_COMPRESSED):
            return None
        level_format = LevelFormat.LOOSE_COMPRESSED
    return LevelType(level_format, tuple(_SUFFIXES[one] for one in suffixes if one != _HIGH))


def take_older_level_type(cursor: Cursor) -> LevelType | None:
    """Takes a level type of a map that is spelled as it was once; takes nothing where one of today's stands."""
    first = cursor.token
    if first.kind is not TokenKind.NAME:
        return None
    count, word = 1, first.text
    while cursor.peek(count).text == "-" and cursor.peek(count + 1).text in (*_SUFFIXES, _HIGH):
        word += f"-{cursor.peek(count + 1).text}"
        count += 2
    found = older_level_type(word)
    if found is None or word in _TODAY:
        return None
    for _ in range(count):
        cursor.take()
    if not cursor.at("("):
        note_older(cursor, first.span.to(cursor.previous), found.to_text())
    return found


def note_older(cursor: Cursor, span: Span, today: str) -> None:
    """Notes that a span has an older spelling, and what stands there today."""
    cursor.older.append(Edit(span, today))
