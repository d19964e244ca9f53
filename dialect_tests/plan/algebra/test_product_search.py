"""The search over products: what it looks at is bounded, whatever the product."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import reduce
from operator import or_

import pytest

from dialect_tests.statement_cases import matrix
from mlir_sparse._search import EntrySet, PartRoom
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import IndexVar, parse, with_explicit_sums
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.estimates import Estimates
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError
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
        relations, result, NestTimes(estimates, MACHINE), lambda part: part, lambda _: False, PartRoom()
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
    relations = [one.replaced(source=("A", tuple(one.order or ()))) for one in found.relations]
    result = found.kept(found.whole)
    return ProductSearch(relations, result, found.nests, lambda part: part & (part - 1), lambda _: False, PartRoom())


@pytest.mark.parametrize("factors", [3, 4, 5])
def test_equal_factors_change_places_in_no_way(factors: int) -> None:
    alike, apart = of_one_matrix(star(factors)), search(star(factors))
    before = alike.nests.work
    assert len(set(alike.alike)) == 1
    assert alike.best(alike.whole).nanoseconds <= apart.best(apart.whole).nanoseconds
    assert alike.nests.work - before < apart.nests.work / 2


@pytest.mark.parametrize(("pairs", "kept"), [(chain(3), ()), (cycle(3), ()), (star(3), (1, 2, 3))])
def test_factors_that_others_or_the_result_tell_apart_keep_their_places(
    pairs: list[tuple[int, int]], kept: tuple[int, ...]
) -> None:
    assert not of_one_matrix(pairs, kept).alike


def test_some_factors_are_alike() -> None:
    assert of_one_matrix(star(3), (1,)).alike == [0, 1, 1]


@pytest.mark.parametrize("factors", [65, 130])
def test_sets_have_more_bits_than_a_word(factors: int) -> None:
    """A chain is computed factor by factor, and no set is cut short."""
    found = search(chain(factors))
    assert found.best(found.whole).nanoseconds < factors * 100e3
    assert found.kept(1 << factors - 1) == 1 << factors - 1
    assert found.kept(found.whole ^ 1) == 2
    assert found.relations[-1].variables == 3 << factors - 1


def test_more_factors_than_a_word_has_bits_are_made_alone() -> None:
    found = search(star(65))
    assert set(found.best(found.whole).made) == {1 << number for number in range(65)}


def test_the_ways_of_many_factors_are_ranked_without_looking_at_all_sets() -> None:
    found = search(chain(40))
    times = [way.nanoseconds for way in found.ranked]
    assert times[0] == found.best(found.whole).nanoseconds
    assert times[1:] == sorted(times[1:])


def test_statements_beyond_the_bits_of_a_set_are_computed_as_they_are_written() -> None:
    names = [f"A{number}" for number in range(257)]
    groups = [" * ".join(f"{name}(i,j)" for name in names[first : first + 50]) for first in range(0, len(names), 50)]
    statement = with_explicit_sums(parse(f"s = {' * '.join(f'({group})' for group in groups)}"))
    assert choose_rewriting(statement, dict.fromkeys(names, matrix(20_000, 20_000, 9)), always=True) is None
    estimates = Estimates({IndexVar(f"i{number}"): 5.0 for number in range(257)})
    with pytest.raises(NoNormalFormError, match="more than 256 index variables"):
        estimates.bits([IndexVar(f"i{number}") for number in range(257)])


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt, MemoryError])
def test_what_ends_a_search_comes_out_as_itself(error: type[BaseException]) -> None:
    """A search asks for keys: what they raise, an interrupt too, is what who asked for the search sees."""
    found = search(star(3))

    def key(members: int) -> int:
        raise error(f"the key of {members}")

    again = ProductSearch(found.relations, 0, found.nests, key, None, PartRoom())
    with pytest.raises(error, match="the key of 1"):
        again.best(again.whole)
    assert found.best(found.whole).made


@pytest.mark.parametrize("extent", [0.0, 1.0, math.inf, 1e300])
def test_products_of_any_extent_and_entries_are_searched(extent: float) -> None:
    """Sketches may lie: a plan is found, whatever numbers there are."""
    variables = [IndexVar(name) for name in "ijkl"]
    for entries in (0.0, 1.0, 1e300, math.inf):
        estimates = Estimates(dict.fromkeys(variables, extent))
        bits = [estimates.bit(variable) for variable in variables]
        relations = [
            EntrySet(a | b, entries, True, {a: entries, b: 0.0}, {a: entries, b: 1.0}, (a, b))
            for a, b in itertools.pairwise(bits)
        ]
        nests = NestTimes(estimates, MACHINE)
        nests.allow_copies(PartRoom(1e6, 8, 8))
        found = ProductSearch(relations, bits[0] | bits[-1], nests, None, None, PartRoom(1e6, 8, 8), has_arrays=True)
        way = found.best(found.whole)
        assert reduce(or_, way.made, way.read) & found.whole == found.whole
        assert found.ranked


def test_arguments_that_fit_no_search_are_refused() -> None:
    found = search(chain(3))
    with pytest.raises(ValueError, match="a name for each factor"):
        ProductSearch(found.relations, 0, found.nests, None, None, PartRoom(), names=[1])
    with pytest.raises(ValueError, match="the bit of one variable"):
        EntrySet(3, 1.0, True, {3: 1.0}, {})
    with pytest.raises(TypeError, match="expected order, in_memory, source or functions"):
        found.relations[0].replaced(entries=2.0)  # type: ignore[call-arg]
    with pytest.raises(OverflowError):
        found.best(-1)
