"""How a call of a loop nest is cut into chunks: the part of each operand, and the combination of the results."""

from __future__ import annotations

import math
from typing import Literal, assert_never

from mlir_sparse.classes import dataclass
from mlir_sparse.text.listed_words import listed

__all__ = ["Cut", "CutResult", "StoredCut"]

CutResult = Literal["apart", "added", "joined"]
"""What the result of a piece is: a part that no other writes to, as large as the whole and added, or entries that
follow those of the piece before.
"""


@dataclass(frozen=True, slots=True)
class StoredCut:
    """An operand in level storage whose first level, or a dense level below, is cut.

    Args:
        tensor: the name of the operand.
        argument: its number among the arguments.
        compressed: whether the level stores its coordinates.
        block: the number of the variable's values for one coordinate of the level.
        steps: the way from the level's positions to the entries as (kind, number): `level` multiplies by the size of a
            level, `times` by a constant; `positions` and `segments` look up a buffer with one number or two for each
            parent.
        shifts: (buffer, steps, factor): the offset of a chunk's buffer is the factor times its begin after these steps.
        stride: the distance between stored coordinates of the first level in its buffer.
        sorted: whether they ascend.
        level: the level that is cut. For a level below the first the result bounds the loops: the level's size is also
            the stride of the rows above.
    """

    tensor: str
    argument: int
    compressed: bool
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
        variable: the index variable that is partitioned.
        compressed: whether chunks begin at stored coordinates, and not at any coordinate.
        outcome: what a chunk's result is.
        stored: the operands in level storage that are cut.
        axes: (argument, axis, coefficient, whether the variable is the whole subscript) of each array that is cut:
            those that have the variable.
        factors: the index variables over which each entry is used again.
        fills: whether the loops initialise their result.
        identity: the initial value, or the identity of `combine`: the bytes of an element as hexadecimal digits.
        combine: the operator that combines the results of chunks, and NumPy's name of the element type.
        reached: the coordinates buffer, of the only operand that is cut, with the rows of the result that are written;
            None if no buffer has them.
        weight: how many entries without functions take as long as one of this nest.
        combined_by: the function that combines results of chunks where native code has no such operator; empty where
            it has.
    """

    variable: str
    compressed: bool
    outcome: CutResult
    stored: tuple[StoredCut, ...]
    axes: tuple[tuple[int, int, int, bool], ...]
    factors: tuple[str, ...]
    fills: bool
    identity: str
    combine: str
    reached: int | None = None
    weight: int = 1
    combined_by: str = ""

    @property
    def unit(self) -> int:
        """Returns the number whose multiples the bounds of chunks are."""
        return math.lcm(*(part.block for part in self.stored))

    def __str__(self) -> str:
        names = listed(dict.fromkeys(part.tensor for part in self.stored)) if self.stored else ""
        by = f"by the {'coordinates' if self.compressed else 'rows'} of {names}, " if names else ""
        match self.outcome:
            case "apart":
                result = "each with a separate part of the result"
            case "added":
                result = "each with a separate result, combined in order"
            case "joined":
                result = "their entries joined in order"
            case _:
                assert_never(self.outcome)
        return f"along {self.variable}, {by}{result}"
