"""Numbers that a call knows: sizes of levels and arrays, how much is stored, and conditions on these, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = [
    "ALIGNED",
    "Address",
    "AxisSize",
    "Count",
    "Extent",
    "Fixed",
    "LevelSize",
    "Longest",
    "Parts",
    "Positions",
    "Product",
    "Start",
    "Stored",
    "Whole",
    "Within",
]


@dataclass(frozen=True, slots=True)
class LevelSize:
    """The size of a level of a sparse tensor: `A.storage.level_sizes[level]`."""

    tensor: str
    level: int

    def __str__(self) -> str:
        return f"size({self.tensor}.{self.level})"


@dataclass(frozen=True, slots=True)
class AxisSize:
    """An extent of a dense array: `x.shape[axis]`."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the first element of a dense array, as far as its alignment goes: modulo `ALIGNED`."""

    tensor: str

    def __str__(self) -> str:
        return f"address({self.tensor})"


@dataclass(frozen=True, slots=True)
class Stored:
    """How many coordinates a level of a sparse tensor stores; interleaved ones count once for all their levels."""

    tensor: str
    level: int

    def __str__(self) -> str:
        return f"entries({self.tensor}.{self.level})"


@dataclass(frozen=True, slots=True)
class Positions:
    """How many positions a level of a sparse tensor stores: `len(A.storage.positions[level])`."""

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class Longest:
    """The most coordinates that one position of the level above has, such as the longest row of a CSR matrix.

    Read off the positions once a tensor; where that is not known, `Stored` of the level is an upper bound.
    """

    tensor: str
    level: int

    def __str__(self) -> str:
        return f"longest({self.tensor}.{self.level})"


@dataclass(frozen=True, slots=True)
class Extent:
    """How far an index variable runs, by its name."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class Start:
    """The least value of a dimension of a sparse tensor in its level space, where that is below 0; else 0.

    Diagonals reach beyond the edges of a matrix: `A.encoding.level_space().dim_bounds[dim]` says how far.
    """

    tensor: str
    dim: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number that is known when the kernel is compiled."""

    value: int

    def __str__(self) -> str:
        return f"{self.value}"


@dataclass(frozen=True, slots=True)
class Product:
    """How many combinations of indices there are, and so many more: rows of a matrix, and one beyond the last."""

    factors: tuple[Extent, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Parts:
    """Into how many parts a number of pieces is divided: each of `least` pieces or more, `most` at most; and one more.

    There is one part where there are no pieces: who takes it writes the end.

    >>> parts = Parts(Product((Extent("i"),)), least=512, most=2048)
    >>> parts.number(0), parts.number(1000), parts.number(10**9)
    (2, 3, 2049)
    """

    pieces: Product
    least: int
    most: int

    def number(self, pieces: int) -> int:
        """Returns the number for so many pieces."""
        return max(1, min(self.most, -(-pieces // self.least))) + 1


ALIGNED = 16
"""Bytes that no instruction of a thread reads or writes more of; new memory begins at a multiple."""

Count = LevelSize | AxisSize | Address | Stored | Positions | Longest | Extent | Start | Fixed | Product | Parts


@dataclass(frozen=True, slots=True)
class Within:
    """A condition on the data of a call: `left <= factor * right`."""

    left: Count
    factor: int
    right: Count = Fixed(1)

    def holds(self, value_of: Callable[[Count], int]) -> bool:
        """Returns whether the condition holds for these counts."""
        return value_of(self.left) <= self.factor * value_of(self.right)

    def __str__(self) -> str:
        return f"{self.left} <= {self.factor}" + ("" if isinstance(self.right, Fixed) else f" * {self.right}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A condition on the data of a call without which launches are not right: a number is a multiple of another."""

    number: Count
    of: int

    def holds(self, value_of: Callable[[Count], int]) -> bool:
        """Returns whether the condition holds for these counts."""
        return value_of(self.number) % self.of == 0

    def __str__(self) -> str:
        return f"{self.number} % {self.of} = 0"
