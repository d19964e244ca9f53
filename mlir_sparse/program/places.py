"""Subscripts as data: sums of index variables by name, and what another tensor holds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Gathered", "IndexSum", "Place"]


@dataclass(frozen=True, slots=True)
class IndexSum:
    """A subscript that is a sum of index variables.

    Args:
        terms: (coefficient, variable) pairs.
        constant: the rest.
    """

    terms: tuple[tuple[int, str], ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Gathered:
    """A subscript that another tensor holds: `I(i,j)`.

    Args:
        tensor: the name of the tensor, a dense array of integers.
        variables: its index variables, a dimension each.
    """

    tensor: str
    variables: tuple[str, ...]


Place = IndexSum | Gathered
