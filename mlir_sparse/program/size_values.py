"""Numbers that are known at a call, as data: sizes of levels and arrays, numbers of entries, conditions on these."""

from __future__ import annotations

from collections.abc import Callable

from mlir_sparse.classes import dataclass

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
class _OfLevel:
    """A number that a level of a sparse tensor has."""

    tensor: str
    level: int
    word = ""  # no field

    def __str__(self) -> str:
        return f"{self.word}({self.tensor}.{self.level})"


class LevelSize(_OfLevel):
    """The size of a level: `A.storage.level_sizes[level]`."""

    __slots__ = ()
    word = "size"


@dataclass(frozen=True, slots=True)
class AxisSize:
    """An extent of a dense array: `x.shape[axis]`."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the first element of a dense array modulo `ALIGNED`, for its alignment."""

    tensor: str

    def __str__(self) -> str:
        return f"address({self.tensor})"


class Stored(_OfLevel):
    """The number of coordinates that a level stores; interleaved levels share one number."""

    __slots__ = ()
    word = "entries"


class Positions(_OfLevel):
    """The number of positions that a level stores: `len(A.storage.positions[level])`."""

    __slots__ = ()
    word = "positions"


class Longest(_OfLevel):
    """The greatest number of coordinates below one parent, such as the length of the longest row of a CSR matrix.

    It is computed from the positions once a tensor; until then `Stored` of the level is an upper bound.
    """

    __slots__ = ()
    word = "longest"


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of an index variable, by its name."""

    variable: str

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class Start:
    """The lower bound of a dimension of a sparse tensor in level space, if it is negative; else 0.

    Diagonals exceed the bounds of a matrix: see `A.encoding.level_space().dim_bounds[dim]`.
    """

    tensor: str
    dim: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number that is known at compile time."""

    value: int

    def __str__(self) -> str:
        return f"{self.value}"


@dataclass(frozen=True, slots=True)
class Product:
    """The product of some numbers plus a constant: the number of rows of a matrix, plus one for the end of the last."""

    factors: tuple[Extent, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Parts:
    """The number of parts of some items, plus one: at most `most` parts, each of at least `least` items.

    Without any items there is one part, whose thread writes the end.

    >>> parts = Parts(Product((Extent("i"),)), least=512, most=2048)
    >>> parts.number(0), parts.number(1000), parts.number(10**9)
    (2, 3, 2049)
    """

    items: Product
    least: int
    most: int

    def number(self, items: int) -> int:
        """Returns the number of parts for a number of items, plus one."""
        return max(1, min(self.most, -(-items // self.least))) + 1


ALIGNED = 16
"""Bytes that no instruction of a thread reads or writes more of; new memory begins at a multiple."""

Count = LevelSize | AxisSize | Address | Stored | Positions | Longest | Extent | Start | Fixed | Product | Parts


@dataclass(frozen=True, slots=True)
class Within:
    """A condition for speed on the data of a call: `left <= factor * right`."""

    left: Count
    factor: int
    right: Count = Fixed(1)

    def holds(self, value_of: Callable[[Count], int]) -> bool:
        """Returns whether the condition holds in a call."""
        return value_of(self.left) <= self.factor * value_of(self.right)

    def __str__(self) -> str:
        return f"{self.left} <= {self.factor}" + ("" if isinstance(self.right, Fixed) else f" * {self.right}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A condition for correctness on the data of a call: a number is a multiple of another."""

    number: Count
    of: int

    def holds(self, value_of: Callable[[Count], int]) -> bool:
        """Returns whether the condition holds in a call."""
        return value_of(self.number) % self.of == 0

    def __str__(self) -> str:
        return f"{self.number} % {self.of} = 0"
