"""Subscripts as data: sums of index variables, and elements of another tensor."""

from __future__ import annotations

from mlir_sparse.classes import dataclass

__all__ = ["Gathered", "IndexSum", "Place"]


@dataclass(frozen=True, slots=True)
class IndexSum:
    """A subscript that is a sum: (coefficient, index variable) pairs, and a constant."""

    terms: tuple[tuple[int, str], ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Gathered:
    """A subscript that is an element of another tensor: `I(i,j)`.

    Args:
        tensor: the name of the tensor, a dense array of integers.
        variables: the index variable of each of its dimensions.
    """

    tensor: str
    variables: tuple[str, ...]


Place = IndexSum | Gathered
