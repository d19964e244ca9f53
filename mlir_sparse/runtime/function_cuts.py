"""How calls are cut in pieces, as data: what the plan found, in terms of a function's arguments."""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse import _native

__all__ = ["Cut", "StoredCut"]


@dataclass(frozen=True, slots=True)
class StoredCut:
    """An argument in level storage that is cut at one of its levels; see `plan.StoredPart`.

    Args:
        argument: its number.
        listed: whether that level stores its coordinates.
        block: elements of the variable to a coordinate of the level.
        steps: (kind, number) from the positions of the first level to the entries.
        shifts: (buffer, steps, factor): by how much buffers begin further on.
        stride: from one stored coordinate of the first level to the next.
        sorted: whether those ascend.
        level: which level is cut.
    """

    argument: int
    listed: bool
    block: int
    steps: tuple[tuple[str, int], ...]
    shifts: tuple[tuple[int, int, int], ...]
    stride: int
    sorted: bool
    level: int


@dataclass(frozen=True, slots=True)
class Cut:
    """How a call is cut.

    Args:
        variable: the loop along which it is.
        unit: of what cuts are multiples.
        listed: whether at coordinates that arguments store.
        outcome: what the result of a piece is: `apart`, `added` or `joined`.
        factors: the loops that each entry is met once for.
        stored: the arguments in level storage that are cut.
        axes: (argument, axis, coefficient, whether the variable is the whole subscript) of each array that is.
        fills: whether the function fills its result first.
        identity: what with, or what it leaves unchanged: the bytes of an element as hexadecimal digits.
        combine: what results of pieces are combined by, and NumPy's name of the element type.
        reached: the buffer of the coordinates that are the rows of the result written to; -1 where none says.
    """

    variable: int
    unit: int
    listed: bool
    outcome: str
    factors: tuple[int, ...]
    stored: tuple[StoredCut, ...]
    axes: tuple[tuple[int, int, int, bool], ...]
    fills: bool
    identity: str
    combine: str
    reached: int

    def linked(self) -> _native.Partition:
        """Returns the cut as calls take it."""
        stored = [
            _native.StoredPart(
                part.argument, part.listed, part.block, part.steps, part.shifts, part.stride, part.sorted, part.level
            )
            for part in self.stored
        ]
        return _native.Partition(
            variable=self.variable,
            unit=self.unit,
            listed=self.listed,
            outcome=self.outcome,
            factors=self.factors,
            stored=stored,
            axes=self.axes,
            fills=self.fills,
            identity=bytes.fromhex(self.identity),
            combine=self.combine,
            reached=self.reached,
        )
