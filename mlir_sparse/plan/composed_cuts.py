"""Cuts of a statement along several index variables: each cuts the pieces that the one before has made."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Assignment, Semiring
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.halos import Halo
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.text.listed_words import listed

__all__ = ["ComposedCut", "compose"]


@dataclass(frozen=True, slots=True)
class ComposedCut:
    """Cuts that are made one after another; a piece has a number for each of them.

    Args:
        cuts: the cuts, one or more; each is one of the statement of the pieces before it.
    """

    cuts: tuple[StatementCut, ...]

    @property
    def assignment(self) -> Assignment:
        """Returns the statement of a piece."""
        return self.cuts[-1].assignment

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the operands of a piece by their names in its statement."""
        return (*self.cuts[-1].parts, *self.cuts[-1].whole)

    def operand(self, name: str) -> str:
        """Returns the operand that a name in the statement of a piece stands for."""
        for cut in reversed(self.cuts):
            name = cut.operand(name)
        return name

    def axes(self, name: str) -> tuple[int | None, ...]:
        """Returns the axis of an operand that each cut divides; None for those that leave it whole."""
        found: list[int | None] = []
        for cut in reversed(self.cuts):
            found.append(cut.parts.get(name))
            name = cut.operand(name)
        return tuple(reversed(found))

    def halos(self, name: str) -> tuple[Halo | None, ...]:
        """Returns what pieces of each cut read of an operand; None where its subscript is the variable of the cut."""
        found: list[Halo | None] = []
        for cut in reversed(self.cuts):
            found.append(cut.halos.get(name))
            name = cut.operand(name)
        return tuple(reversed(found))

    def __str__(self) -> str:
        return "\n  then ".join(map(str, self.cuts))


def compose(assignment: Assignment, variables: Sequence[str], ring: Semiring = PLUS_TIMES) -> ComposedCut | str:
    """Returns the cuts along index variables in turn, or the reason why one of them is none.

    Args:
        assignment: a checked statement.
        variables: one index variable or more, each once.
        ring: what `+` and `*` are.

    >>> from mlir_sparse.notation import parse
    >>> found = compose(parse("C(i,k) = A(i,j) * B(j,k)"), ["i", "j"])
    >>> print(found)
    along i: axis 0 of A; each piece reads all of B; results follow one another along axis 0
      then along j: axis 1 of A, axis 0 of B; results are combined by sum
    >>> found.axes("A"), found.axes("B")
    ((0, 1), (None, 0))
    """
    made: list[StatementCut] = []
    for variable in variables:
        found = cuts(made[-1].assignment if made else assignment, ring)[variable]
        if isinstance(found, str):
            return found
        twice = [found.operand(name) for name in found.halos if _is_cut(name, found, made)]
        if twice:
            return f"{variable}: {listed(twice)} is cut along the same axis by another variable of the sum"
        made.append(found)
    return ComposedCut(tuple(made))


def _is_cut(name: str, cut: StatementCut, before: Sequence[StatementCut]) -> bool:
    """Returns whether cuts before one divide an operand along the axis that it divides."""
    axis, name = cut.parts[name], cut.operand(name)
    for other in reversed(before):
        if other.parts.get(name) == axis:
            return True
        name = other.operand(name)
    return False
