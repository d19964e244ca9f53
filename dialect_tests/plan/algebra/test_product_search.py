"""The search over products: what it looks at is bounded, whatever the product."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

import pytest

from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.product_search import ProductSearch

MACHINE = machine_profile().times

EXTENT, ENTRIES = 1000.0, 5000.0


def search(pairs: Iterable[tuple[int, int]], kept: Iterable[int] = ()) -> ProductSearch:
    """Returns the search for a product of matrices, each over two variables of given numbers."""
    pairs = list(pairs)
    variables = [IndexVar(f"i{number}") for number in range(1 + max(map(max, pairs)))]
    estimates = Estimates(dict.fromkeys(variables, EXTENT))
    relations = []
    for pair in pairs:
        rows, columns = (estimates.bit(variables[one]) for one in pair)
        degrees = {rows: 10.0, columns: 10.0}
        squares = {rows: 30_000.0, columns: 30_000.0}
        relations.append(EntrySet(rows | columns, ENTRIES, True, degrees, squares, (rows, columns)))
    result = estimates.bits([variables[one] for one in kept])
    return ProductSearch(
        relations, result, NestTimes(estimates, MACHINE), lambda part: part, lambda _: False, lambda _: True
    )


def chain(length: int) -> list[tuple[int, int]]:
    return list(itertools.pairwise(range(length + 1)))


def star(length: int) -> list[tuple[int, int]]:
    return [(0, number + 1) for number in range(length)]


def cycle(length: int) -> list[tuple[int, int]]:
    return [(number, (number + 1) % length) for number in range(length)]


def clique(length: int) -> list[tuple[int, int]]:
    return list(itertools.islice(itertools.combinations(range(7), 2), length))


@pytest.mark.parametrize("shape", [chain, star, cycle, clique])
@pytest.mark.parametrize(("factors", "most"), [(3, 40), (4, 180), (5, 400), (9, 2500), (15, 300)])
def test_few_ways_are_looked_at(shape: object, factors: int, most: int) -> None:
    assert callable(shape)
    found = search(shape(factors))
    way = found.best(found.whole)
    assert found.nests.work <= most
    assert way.nanoseconds <= found.in_one_nest(found.whole).nanoseconds


@pytest.mark.parametrize("factors", [7, 9, 12])
def test_many_sums_are_made_alone(factors: int) -> None:
    """Each matrix of a star is summed over its own variable first, and a chain is a chain of vectors."""
    alone = search(star(factors))
    assert set(alone.best(alone.whole).made) == {1 << number for number in range(factors)}
    vectors = search(chain(factors))
    assert vectors.best(vectors.whole).nanoseconds < factors * 60e3


def test_a_search_takes_the_same_way_each_time() -> None:
    ways = [found.best(found.whole) for found in (search(clique(9)) for _ in range(2))]
    assert (ways[0].nanoseconds, ways[0].made) == (ways[1].nanoseconds, ways[1].made)


def of_one_matrix(pairs: list[tuple[int, int]], kept: Iterable[int] = ()) -> ProductSearch:
    """Returns the search for a product of one matrix at several pairs of variables, whose single factors are equal."""
    found = search(pairs, kept)
    relations = [
        replace(one, source=("A", tuple(one.order or ())))
        for one in (found._relations[1 << n] for n in range(len(pairs)))
    ]
    return ProductSearch(
        relations, found._result, found.nests, lambda part: part & (part - 1), lambda _: False, lambda _: True
    )


@pytest.mark.parametrize("factors", [3, 4, 5])
def test_equal_factors_change_places_in_no_way(factors: int) -> None:
    alike, apart = of_one_matrix(star(factors)), search(star(factors))
    before = alike.nests.work
    assert len(set(alike._alike.values())) == 1
    assert alike.best(alike.whole).nanoseconds <= apart.best(apart.whole).nanoseconds
    assert alike.nests.work - before < apart.nests.work / 2


@pytest.mark.parametrize(("pairs", "kept"), [(chain(3), ()), (cycle(3), ()), (star(3), (1, 2, 3))])
def test_factors_that_others_or_the_result_tell_apart_keep_their_places(
    pairs: list[tuple[int, int]], kept: tuple[int, ...]
) -> None:
    assert not of_one_matrix(pairs, kept)._alike


def test_some_factors_are_alike() -> None:
    assert list(of_one_matrix(star(3), (1,))._alike.values()) == [0, 1, 1]
