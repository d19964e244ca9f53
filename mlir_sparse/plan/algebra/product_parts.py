"""Which sets of the factors of a product its loop nests have as parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property

from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of
from mlir_sparse.plan.algebra.factor_partitions import (
    PARTITIONED,
    PARTITIONS,
    interchangeable,
    without_alike,
    without_some,
)
from mlir_sparse.plan.algebra.factor_sets import FactorSets, Members

__all__ = ["ProductParts"]


class ProductParts(FactorSets):
    """The sets of factors of a product that are parts of others.

    Args:
        relations: what each factor is to estimates.
        kept: the variables of the result.
        key: what sets have in common that are equal up to the names of variables.
    """

    def __init__(self, relations: Sequence[EntrySet], kept: int, key: Callable[[Members], Hashable]) -> None:
        super().__init__(relations, kept)
        self._key = key

    def is_part(self, part: Members) -> bool:
        """Returns whether a set may be a part: a factor, or some that variables link."""
        return not part & (part - 1) or self.is_linked(part)

    def linked_sets(self) -> Iterator[Members]:
        """Yields the sets of two factors and more that variables link, but for that of all, small ones first."""
        singles = bits_of(self.whole)
        for size in range(2, len(singles)):
            yield from filter(self.is_linked, map(sum, itertools.combinations(singles, size)))

    def choices(self, parts: Sequence[Members], late: int = 0) -> list[tuple[Members, ...]]:
        """Returns which of some parts are made: all that are sums, and of few factors all but some single ones."""
        if late:
            parts = [self.keeping(part, late) for part in parts]
        made = tuple([part for part in parts if not self.is_read(part)])
        fewer = without_some(made) if self.whole.bit_count() <= PARTITIONED else ()
        return [made, *(without_alike(fewer, self._alike) if self._alike and not late else fewer)]

    @cached_property
    def _alike(self) -> dict[Members, int]:
        """Returns by factor a number that it shares with those that may change places with it, if there are any."""
        return interchangeable(self._relations, self._result, self._key)

    def partitions(self, members: Members) -> Iterator[Sequence[Members]]:
        """Yields the ways to put a set into parts, but for one part with all, and those that are alike."""
        found = self._all_partitions(members & self.whole)
        return without_alike(found, self._alike) if self._alike and members <= self.whole else found

    def _all_partitions(self, members: Members) -> Iterator[Sequence[Members]]:
        singles = bits_of(members)
        if len(singles) == 1:
            return
        if members & ~self._plain:
            yield singles
        if len(singles) <= PARTITIONED:
            yield from self._set_partitions(singles)
        else:
            yield from self._halves_and_rests(singles)

    def _set_partitions(self, singles: Sequence[Members]) -> Iterator[Sequence[Members]]:
        for partition in PARTITIONS[len(singles)]:
            parts = [sum([singles[place] for place in part]) for part in partition]
            if all(map(self.is_part, parts)):
                yield parts

    def _halves_and_rests(self, singles: Sequence[Members]) -> Iterator[Sequence[Members]]:
        """Yields two parts, each made first, and one part that is made first with all others as they are."""
        members = sum(singles)
        for size in range(2, len(singles)):
            for chosen in itertools.combinations(singles, size):
                part = sum(chosen)
                if self.is_part(part):
                    rest = members ^ part
                    if rest & (rest - 1) and chosen[0] == singles[0] and self.is_part(rest):
                        yield [part, rest]
                    yield [part, *bits_of(rest)]
