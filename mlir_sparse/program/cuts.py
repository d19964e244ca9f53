"""How calls of loop nests are cut in pieces: which parts of the operands each takes, and how their results meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, assert_never

from mlir_sparse.text.listed_words import listed

__all__ = ["Cut", "CutResult", "StoredCut"]

CutResult = Literal["apart", "added", "joined"]
"""What the result of a piece is: a part that no other writes to, as large as the whole and added, or entries that
follow those of the piece before.
"""


@dataclass(frozen=True, slots=True)
class StoredCut:
    """An operand in level storage that is cut at its first level, or at a dense one below.

    Args:
        tensor: the operand.
        argument: its number among the arguments.
        listed: whether that level stores its coordinates.
        block: elements of the variable to a coordinate of the level.
        steps: (kind, number) from the positions of that level to the entries: `level` for the size of a level,
            `times` for a constant, `positions` and `segments` for a buffer of one number or two for each parent.
        shifts: (buffer, steps, factor): by how much buffers begin further on, in positions after so many steps.
        stride: from one stored coordinate of the first level to the next.
        sorted: whether those ascend.
        level: which level is cut. Of one below the first, loops run as far as the result does: its size is also
            what lies between the rows above.
    """

    tensor: str
    argument: int
    listed: bool
    block: int
    steps: tuple[tuple[str, int], ...]
    shifts: tuple[tuple[int, int, int], ...]
    stride: int
    sorted: bool
    level: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """How a loop nest is cut.

    Args:
        variable: the index variable along which it is.
        listed: whether at coordinates that operands store, rather than at any.
        outcome: what the result of a piece is.
        stored: the operands in level storage that are cut.
        axes: (argument, axis, coefficient, whether the variable is the whole subscript) of each array that is: of all
            that have the variable.
        factors: the index variables that each entry is met once for.
        fills: whether the loops fill their result first.
        identity: what with, or what it leaves unchanged: the bytes of an element as hexadecimal digits.
        combine: what results of pieces are combined by, and NumPy's name of the element type.
        reached: the buffer of coordinates, of the only operand that is cut, that are the rows of the result written
            to; None where none says which those are.
    """

    variable: str
    listed: bool
    outcome: CutResult
    stored: tuple[StoredCut, ...]
    axes: tuple[tuple[int, int, int, bool], ...]
    factors: tuple[str, ...]
    fills: bool
    identity: str
    combine: str
    reached: int | None = None

    @property
    def unit(self) -> int:
        """Returns of what the cuts are multiples."""
        return math.lcm(*(part.block for part in self.stored))

    def __str__(self) -> str:
        names = listed(dict.fromkeys(part.tensor for part in self.stored)) if self.stored else ""
        by = f"by the {'coordinates' if self.listed else 'rows'} of {names}, " if names else ""
        match self.outcome:
            case "apart":
                result = "each with a part of the result to itself"
            case "added":
                result = "each with a result of its own, combined in their order"
            case "joined":
                result = "their entries joined in their order"
            case _:
                assert_never(self.outcome)
        return f"along {self.variable}, {by}{result}"
