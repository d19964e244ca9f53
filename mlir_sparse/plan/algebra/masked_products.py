"""Products of two sparse matrices of which only the elements at the entries of a third are read.

Loops into a sparse result walk rows of the two, and look up the row of the mask, which they scatter once. Those over a
sum meet entries of all three.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.process.forks import cached_property

__all__ = ["Mask", "masks_of"]


@dataclass(eq=False)
class Mask:
    """A product of matrices at the entries of another.

    Args:
        mask: the matrix at whose entries it is computed, over the rows of one and the columns of the other.
        left: the matrix whose rows are walked, whose columns are summed over.
        right: the matrix whose rows are walked for each entry of the left one.
        others: the other operands of the statement, which have no variable that is summed over.
        estimates: estimates for the variables.
    """

    mask: EntrySet
    left: EntrySet
    right: EntrySet
    others: tuple[EntrySet, ...]
    estimates: Estimates

    @property
    def relations(self) -> tuple[EntrySet, EntrySet, EntrySet]:
        """Returns the three matrices."""
        return self.mask, self.left, self.right

    @cached_property
    def result(self) -> EntrySet:
        """Returns what the product is to loops that read it: some entries of the mask, in the order of the loops."""
        mask, (rows, _, columns) = self.mask, self.order
        entries, order = _entries(self.relations, self.estimates), (rows, columns)
        numbers = mask.largest, mask.squares, order, mask.at_most, mask.in_memory
        return EntrySet(mask.variables, entries, mask.sparse, *numbers)

    @cached_property
    def order(self) -> tuple[int, int, int]:
        """Returns the order of loops in which rows of the mask are looked up."""
        summed = self.left.variables & self.right.variables
        return self.left.variables ^ summed, summed, self.right.variables ^ summed

    @cached_property
    def sorted_anew(self) -> tuple[EntrySet, ...]:
        """Returns what the loops need in another order of levels."""
        rows, summed, columns = self.order
        wanted = ((self.mask, (rows, columns)), (self.left, (rows, summed)), (self.right, (summed, columns)))
        return tuple(one for one, order in wanted if one.order is not None and one.order != order)


def masks_of(relations: Sequence[EntrySet], kept: int, estimates: Estimates) -> list[Mask]:
    """Returns how a product may be computed with a mask.

    Args:
        relations: the operands of a product.
        kept: the variables of its result. A product over those of the mask is one nest with it anyway.
        estimates: estimates for the variables.
    """
    places = [place for place, one in enumerate(relations) if one.sparse and one.variables.bit_count() == 2]
    if len(places) < 3:
        return []
    found = []
    for one, other in itertools.combinations(places, 2):
        left, right = relations[one], relations[other]
        summed, outside = left.variables & right.variables, left.variables ^ right.variables
        if summed.bit_count() != 1 or summed & kept or not outside & ~kept:
            continue
        mask = next((place for place in places if relations[place].variables == outside), None)
        if mask is not None and sum(bool(each.variables & summed) for each in relations) == 2:
            others = tuple(each for place, each in enumerate(relations) if place not in (mask, one, other))
            ways = (Mask(relations[mask], *pair, others, estimates) for pair in ((left, right), (right, left)))
            found.append(min(ways, key=lambda way: sum(one.entries for one in way.sorted_anew)))
    return found


def _entries(relations: tuple[EntrySet, EntrySet, EntrySet], estimates: Estimates) -> float:
    """Returns how many entries of a mask, the first, a product has: all where nothing says how often they meet."""
    mask = relations[0]
    if not mask.entries or any(relation.pattern is None for relation in relations):
        return mask.entries
    return mask.entries * -math.expm1(-estimates.meet(relations)[0] / mask.entries)
