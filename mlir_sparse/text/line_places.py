"""Places in a text by line and column, as debug locations name them."""

from __future__ import annotations

from mlir_sparse.classes import dataclass

__all__ = ["LinePlace"]


@dataclass(frozen=True, slots=True)
class LinePlace:
    """A place in one line of a text.

    Args:
        text: what locations call the text: `notation`, or a file.
        line: the line, from 1.
        start: the column of its first character, from 1.
        end: the column behind its last; 0 where a location names a column only.
    """

    text: str
    line: int
    start: int
    end: int = 0
