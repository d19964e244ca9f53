"""Bounds on the number of entries of a sparse result, from those of the operands, for reserving its buffers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from mlir_sparse.classes import dataclass

__all__ = ["EntryBounds"]

# A bound on the number of coordinate tuples where a node has entries, and the variables of the tuples.
_Tuples = tuple[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class EntryBounds:
    """The bounds on the entries of a sparse result.

    Args:
        tree: the computation at each point: `("1",)` for a number, `("of", tensor, *variables)` for an element,
            `("*", left, right)` and `("/", left, right)` where both sides must have an entry, `("+", *parts)` where one
            part suffices.
        variables: the index variables of the result.
        reduces: whether several points are reduced to one element.
    """

    tree: tuple[Any, ...]
    variables: tuple[str, ...]
    reduces: bool

    def most(self, entries: Mapping[str, int], extents: Mapping[str, int]) -> int:
        """Returns an upper bound on the number of entries.

        A product has at most the entries of each factor, repeated along the variables that the factor lacks; a sum has
        at most those of all its operands (Kjolstad et al. 2017, section 5.1).

        Args:
            entries: the stored entries of each sparse operand.
            extents: the extent of each index variable.

        >>> product = EntryBounds(("*", ("of", "A", "i", "k"), ("of", "B", "k", "j")), ("i", "j"), True)
        >>> product.most({"A": 5, "B": 7}, {"i": 10, "j": 4, "k": 10})
        20
        """
        tuples, variables = _tuples(self.tree, entries, extents)
        variables_of_result = frozenset(self.variables)
        return min(tuples * _volume(variables_of_result - variables, extents), _volume(variables_of_result, extents))

    def least(self, entries: Mapping[str, int], extents: Mapping[str, int]) -> int:
        """Returns a lower bound on the number of entries; 0 if none is known.

        A product of factors without common variables has an entry for each combination of their entries.

        Args:
            entries: the stored entries of each sparse operand.
            extents: the extent of each index variable.

        >>> outer = EntryBounds(("*", ("of", "u", "i"), ("of", "v", "j")), ("i", "j"), False)
        >>> outer.least({"u": 2, "v": 3}, {"i": 9, "j": 9})
        6
        """
        return 0 if self.reduces else _apart(self.tree, entries, extents)[0]

    def points(self, entries: Mapping[str, int], extents: Mapping[str, int]) -> int:
        """Returns the number of points to compute if entries are spread evenly.

        This estimates the work; it bounds nothing.

        Args:
            entries: the stored entries of each sparse operand.
            extents: the extent of each index variable.

        >>> product = EntryBounds(("*", ("of", "A", "i", "k"), ("of", "B", "k", "j")), ("i", "j"), True)
        >>> product.points({"A": 50, "B": 70}, {"i": 100, "j": 100, "k": 100})
        35
        >>> more = EntryBounds(("+", product.tree, ("of", "D", "i", "j")), ("i", "j"), True)
        >>> more.points({"A": 50, "B": 70, "D": 3}, {"i": 100, "j": 100, "k": 100})
        335
        """
        points, variables = _even(self.tree, entries, extents)
        return points * _volume(frozenset(self.variables) - variables, extents)

    def bounds(self, entries: Mapping[str, int], extents: Mapping[str, int]) -> tuple[int, int]:
        """Returns the lower and the upper bound."""
        return self.least(entries, extents), self.most(entries, extents)


def _apart(tree: tuple[Any, ...], entries: Mapping[str, int], extents: Mapping[str, int]) -> _Tuples:
    kind, *parts = tree
    if kind in ("1", "of"):
        return _tuples(tree, entries, extents)
    if kind == "*":
        (left, names), (right, others) = (_apart(part, entries, extents) for part in parts)
        return (0 if names & others else left * right), names | others
    return 0, _tuples(tree, entries, extents)[1]


def _tuples(tree: tuple[Any, ...], entries: Mapping[str, int], extents: Mapping[str, int]) -> _Tuples:
    kind, *parts = tree
    if kind == "1":
        return 1, frozenset()
    if kind == "of":
        tensor, *names = parts
        variables = frozenset(names)
        return entries.get(tensor, _volume(variables, extents)), variables
    found = [_tuples(part, entries, extents) for part in parts]
    variables = frozenset[str]().union(*(names for _, names in found))
    counts = [count * _volume(variables - names, extents) for count, names in found]
    return (min(counts) if kind in ("*", "/") else sum(counts)), variables


def _even(tree: tuple[Any, ...], entries: Mapping[str, int], extents: Mapping[str, int]) -> _Tuples:
    kind, *parts = tree
    if kind in ("1", "of"):
        return _tuples(tree, entries, extents)
    found = [_even(part, entries, extents) for part in parts]
    if kind == "+":
        variables = frozenset[str]().union(*(names for _, names in found))
        return sum(count * _volume(variables - names, extents) for count, names in found), variables
    (left, names), (right, others) = found
    return left * right // max(1, _volume(names & others, extents)), names | others


def _volume(variables: Iterable[str], extents: Mapping[str, int]) -> int:
    return math.prod(extents[name] for name in variables)
