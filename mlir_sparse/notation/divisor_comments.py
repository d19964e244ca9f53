"""Comments of notation that are meant as divisors: Python's `//` rounds a quotient down, C's begins a comment."""

from __future__ import annotations

import re
from collections.abc import Callable

from mlir_sparse.errors import NotationSyntaxError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.lexer import is_name
from mlir_sparse.text.source_text import Source, Span

__all__ = ["refuse_divisors"]

_COMMENT = r"(?<=\S)[ \t]*(//[ \t]*([^\r\n]*))"

_WORD_AND_REMARK = r"\w+\s+[(\[]"  # `see (3)`


def refuse_divisors(source: Source, parse: Callable[[Cursor], object]) -> None:
    """Raises NotationSyntaxError for a comment after a statement that is an expression, as in `x(i) // 2`.

    A single word is no such comment: where it is data, its tensor is missed in the statement.

    Args:
        source: the text of a statement.
        parse: takes an expression.
    """
    if "//" not in source.text:
        return
    for match in re.finditer(_COMMENT, source.text):
        if is_name(match[2].strip()) or re.match(_WORD_AND_REMARK, match[2]):
            continue
        try:
            cursor = Cursor(Source(match[2], source.name), NotationSyntaxError)
            parse(cursor)
        except NotationSyntaxError:
            continue
        if cursor.done:
            raise NotationSyntaxError(
                "expected words after `//`, which begins a comment, but got what reads as a divisor: "
                "write `floor_divide(a, b)` for a quotient that is rounded down",
                source=source,
                span=Span(*match.span(1)),
            )
