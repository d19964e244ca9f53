"""A user's text, ranges of characters in it, and the caret lines that show them."""

from __future__ import annotations

from mlir_sparse.classes import dataclass

__all__ = ["Source", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets into a Source."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Returns the span from the start of this one to the end of the other.

        >>> Span(2, 4).to(Span(7, 9))
        Span(start=2, end=9)
        """
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and its name in errors.

    >>> print(Source("y(i) = A(i,", "notation").caret(Span(11, 11)))
      y(i) = A(i,
                 ^
    """

    text: str
    name: str

    def line_column(self, offset: int) -> tuple[int, int]:
        """Returns the 1-based line and column of a character offset."""
        before = self.text[:offset]
        line = before.count("\n") + 1
        column = offset - (before.rfind("\n") + 1) + 1
        return line, column

    def span_at(self, line: int, column: int) -> Span | None:
        r"""Returns the character at a place as MLIR counts: lines end at line feeds alone, columns are bytes.

        Args:
            line: from 1 on.
            column: likewise.

        Returns:
            its span; None for a place that is not in the text.

        >>> Source("é\nthé end", "text").span_at(2, 6)
        Span(start=6, end=7)
        """
        lines = self.text.split("\n")
        if not 0 < line <= len(lines):
            return None
        before = lines[line - 1].encode(errors="replace")[: max(column - 1, 0)].decode(errors="ignore")
        start = sum(len(one) + 1 for one in lines[: line - 1]) + len(before)
        return Span(start, start + 1)

    def caret(self, span: Span) -> str:
        """Returns the line where the span starts, with carets below the span; the nearby part of a long line.

        >>> print(Source("y(i) = A(i) ? 2", "notation").caret(Span(12, 13)))
          y(i) = A(i) ? 2
                      ^
        """
        start = self.text.rfind("\n", 0, span.start) + 1
        end = self.text.find("\n", span.start)
        line = self.text[start : len(self.text) if end < 0 else end]
        first, last = _window(len(line), span.start - start)
        shown, before = line[first:last], line[first : span.start - start]
        if first:
            shown, before = "..." + shown, "   " + before
        # Tabs are kept in the margin so that the caret stays below its character.
        margin = "".join("\t" if c == "\t" else " " for c in before)
        width = max(1, min(span.end - start, last) - (span.start - start))
        return f"  {shown}{'...' if last < len(line) else ''}\n  {margin}{'^' * width}"


# At most a terminal's width: a line of generated text can be thousands of characters long.
_LONGEST_LINE = 120
_BEFORE = _LONGEST_LINE // 2


def _window(length: int, column: int) -> tuple[int, int]:
    """Returns the range of columns to show of a line; it contains `column`."""
    if length <= _LONGEST_LINE:
        return 0, length
    first = max(0, column - _BEFORE)
    return first, min(length, first + _LONGEST_LINE)
