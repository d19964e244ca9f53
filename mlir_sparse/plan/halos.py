"""What pieces of a statement read of an operand whose subscript is a sum with the variable of the cut: `x(i + k)`.

A piece reads the coordinates of its own values of the variable, and those beside them that the sum reaches: its halo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Access, AffineSubscript, IndexVar
from mlir_sparse.notation.linear_subscript import as_subscript
from mlir_sparse.spec import subscript_bounds

__all__ = ["Halo", "factor_of", "halo_of", "refused_sum"]


@dataclass(frozen=True, slots=True)
class Halo:
    """The part that a piece reads of an axis whose subscripts are multiples of the cut's variable and something else.

    What subscripts add to the multiple is never negative, as the variable begins at 0.

    Args:
        factor: the multiple.
        added: what each subscript adds to it.
        offset: what all of them add at least: subscripts of pieces are less by so much.
    """

    factor: int
    added: tuple[AffineSubscript, ...]
    offset: int

    def part(self, low: int, high: int, extents: Mapping[IndexVar, int]) -> tuple[int, int]:
        """Returns the coordinates that a piece reads: the first, and the one behind the last.

        Args:
            low: the piece's first value of the variable.
            high: the value behind its last.
            extents: the extent of each index variable.

        >>> i, k = IndexVar("i"), IndexVar("k")
        >>> Halo(2, (AffineSubscript(((1, k),), 1),), 1).part(10, 20, {k: 3})
        (21, 42)
        """
        bounds = self._bounds(extents)
        # A loop without iterations reads nothing; extents are found as if it added nothing.
        offset, most = (self.offset, max(last for _, last in bounds)) if bounds else (0, 0)
        begin = self.factor * low + offset
        return begin, max(begin, self.factor * (high - 1) + most + 1)

    def reach(self, extents: Mapping[IndexVar, int]) -> int:
        """Returns how many coordinates beside its own a piece reads."""
        return max((last - self.offset for _, last in self._bounds(extents)), default=0)

    def _bounds(self, extents: Mapping[IndexVar, int]) -> list[tuple[int, int]]:
        """Returns the least and the most that each subscript adds; none where a loop has no iterations."""
        bounds = [subscript_bounds(one, extents) for one in self.added]
        return [] if None in bounds else [one for one in bounds if one is not None]

    def shifted(self, subscript: AffineSubscript) -> AffineSubscript | IndexVar:
        """Returns the subscript of a piece, in place of one of the whole statement."""
        return as_subscript(replace(subscript, constant=subscript.constant - self.offset))

    def __str__(self) -> str:
        multiple = "" if self.factor == 1 else f"{self.factor} times "
        added = [str(one) for one in self.added if one.terms or one.constant]
        return f"{multiple}the piece's coordinates{' plus ' if added else ''}{' and '.join(added)}"


def refused_sum(access: Access, subscript: AffineSubscript, variable: IndexVar, ranged: Iterable[IndexVar]) -> str:
    """Returns why the axis of a sum cannot be cut along a variable in it; empty if it can.

    Args:
        access: the access.
        subscript: the sum.
        variable: the variable of the cut.
        ranged: the variables whose ranges the statement says itself.
    """
    if subscript.symbolic:
        return f"{access} has a multiple of {variable} that is known later"
    if factor_of(subscript, variable) < 0:
        return f"{access} is read backwards along {variable}"
    own = set(ranged)
    for _, other in subscript.terms:
        if other in own:
            return f"{access} has {other}, which has a range of its own, beside {variable}"
    return ""


def factor_of(subscript: object, variable: IndexVar) -> int:
    """Returns the multiple of a variable in a subscript; 0 where it lacks it."""
    match subscript:
        case IndexVar():
            return int(subscript == variable)
        case AffineSubscript(terms):
            return next((factor for factor, other in terms if other == variable), 0)
        case _:
            return 0


def halo_of(subscripts: Iterable[object], variable: IndexVar) -> Halo | None:
    """Returns the halo of an axis that some subscripts read; None where they are the variable alone."""
    added: dict[AffineSubscript, None] = {}
    factor = 1
    for subscript in subscripts:
        factor = factor_of(subscript, variable)
        terms = subscript.terms if isinstance(subscript, AffineSubscript) else ()
        constant = subscript.constant if isinstance(subscript, AffineSubscript) else 0
        added[AffineSubscript(tuple(term for term in terms if term[1] != variable), constant)] = None
    if factor == 1 and set(added) == {AffineSubscript((), 0)}:
        return None
    return Halo(factor, tuple(added), _offset(list(added)))


def _offset(added: Sequence[AffineSubscript]) -> int:
    if any(factor < 0 for one in added for factor, _ in one.terms):
        return 0  # the least that is added depends on extents
    least = min(one.constant for one in added)
    # A subscript that is the variable alone says how far that runs; of several it would say too much.
    return least if len(added) == 1 else max(0, least - 1)
