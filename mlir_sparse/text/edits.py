"""Changes to a text, each with its place, so that all the rest stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import OperandError
from mlir_sparse.text.source_text import Span

__all__ = ["Edit", "edited"]

_BLANKS = " \t"
_LINE_ENDS = "\r\n"


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in the place of a span from now on; nothing takes it away."""

    span: Span
    text: str = ""

    @property
    def deletes(self) -> bool:
        """Returns whether it only takes text away."""
        return not self.text and self.span.start < self.span.end


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Returns a text with edits; a line of which they leave nothing but blanks goes too.

    Args:
        text: the text.
        edits: in any order; none overlaps another. Those of empty spans insert.

    Raises:
        OperandError: for edits that overlap.

    >>> edited("a, b, c", [Edit(Span(2, 5)), Edit(Span(0, 1), "x")])
    'x, c'
    """
    parts: list[str] = []
    at = 0
    for edit in _joined(text, sorted(edits, key=lambda one: (one.span.start, one.span.end))):
        if edit.span.start < at:
            raise OperandError(f"expected edits apart from each other, but got two at offset {edit.span.start}")
        span = _with_blanks(text, edit.span) if edit.deletes else edit.span
        parts += text[at : max(at, span.start)], edit.text
        at = span.end
    return "".join((*parts, text[at:]))


def _joined(text: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yields edits, deletions with nothing but blanks between them as one."""
    last: Edit | None = None
    for edit in edits:
        if (
            last is not None
            and last.deletes
            and edit.deletes
            and not text[last.span.end : edit.span.start].strip(_BLANKS)
        ):
            last = Edit(last.span.to(edit.span))
            continue
        if last is not None:
            yield last
        last = edit
    if last is not None:
        yield last


def _with_blanks(text: str, span: Span) -> Span:
    """Returns a span with its line if nothing else is on it, or with the blanks on one side."""
    first, last = span.start, span.end
    while first and text[first - 1] in _BLANKS:
        first -= 1
    while last < len(text) and text[last] in _BLANKS:
        last += 1
    if first and text[first - 1] not in _LINE_ENDS:
        return Span(first, span.end)
    if last < len(text) and text[last] not in _LINE_ENDS:
        return Span(span.start, last)
    return Span(first, last + (2 if text.startswith("\r\n", last) else 1))
