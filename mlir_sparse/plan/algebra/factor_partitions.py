"""Partitions of the factors of a product into parts, without those that differ in the places of equal factors alone.

Factors as those of `A(i,j) * A(i,k) * A(i,l)`, summed over j, k and l, may change places: plans in which they have take
as long, and a search looks at one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of, repeated

__all__ = ["PARTITIONED", "PARTITIONS", "interchangeable", "without_alike", "without_some"]

# The bits of a set of factors.
Members = int

_Parts = TypeVar("_Parts", bound=Sequence[Members])

PARTITIONED = 4
"""Up to so many factors all partitions are tried."""


def without_some(made: tuple[Members, ...]) -> Iterator[tuple[Members, ...]]:
    """Yields some parts without some of those that are single factors, but not none."""
    singles = [part for part in made if not part & (part - 1)]
    for size in range(1, min(len(singles), len(made) - 1) + 1):
        for left in itertools.combinations(singles, size):
            yield tuple(part for part in made if part not in left)


def interchangeable(
    relations: Mapping[Members, EntrySet], kept: int, key: Callable[[Members], Hashable]
) -> dict[Members, int]:
    """Returns by factor a number, which those share that are equal up to variables that they alone have.

    It is empty where no two factors share a number.

    Args:
        relations: by the bit of each factor what it is to estimates.
        kept: the variables of the result.
        key: returns what factors have in common that are equal up to the names of variables.
    """
    shared = kept | repeated(relations.values())
    places = {one: _place(relation, shared) for one, relation in relations.items()}
    if len(set(places.values())) == len(places):
        return {}
    numbers: dict[Hashable, int] = {}
    found = {one: numbers.setdefault((place, key(one)), len(numbers)) for one, place in places.items()}
    return found if len(numbers) < len(found) else {}


def _place(relation: EntrySet, shared: int) -> Hashable:
    """Returns which tensor a factor reads, and where: a variable of its own counts as where it stands first."""
    if relation.source is None:
        return relation
    tensor, own = relation.source
    # Bits are above zero, and these numbers are not.
    return relation.variables & shared, tensor, *(v if v & shared else -own.index(v) for v in own)


def without_alike(partitions: Iterable[_Parts], numbers: Mapping[Members, int]) -> Iterator[_Parts]:
    """Yields partitions but for those that are an earlier one in which factors have changed places.

    Args:
        partitions: the parts of each.
        numbers: by factor the number that it shares with others.
    """
    seen = set[Hashable]()
    for parts in partitions:
        known = len(seen)
        seen.add(tuple(sorted([tuple(sorted([numbers[one] for one in bits_of(part)])) for part in parts])))
        if len(seen) > known:
            yield parts


def _set_partitions(places: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not places:
        yield ()
        return
    first, *rest = places
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(rest, size):
            left = tuple(one for one in rest if one not in chosen)
            yield from (((first, *chosen), *parts) for parts in _set_partitions(left))


PARTITIONS = [
    tuple(parts for parts in _set_partitions(tuple(range(size))) if 1 < len(parts) < size)
    for size in range(PARTITIONED + 1)
]
"""By the number of factors: the ways to put them into parts, but for one part with all and one part each."""
