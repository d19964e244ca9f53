"""Ways to compute a statement that are right where matrices are their own transposes, which each call checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mlir_sparse.encoding import Sketch
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Access, Assignment, accesses_of
from mlir_sparse.plan.algebra.algebra_rules import TRANSPOSE
from mlir_sparse.plan.algebra.statement_ways import StatementWay, StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

__all__ = ["cheapest_ways", "symmetric_ways", "without_symmetry"]

# To compare a matrix with its transpose takes this share of the time of a conversion, which writes, too.
_CHECKED = 0.4
# So much where all entries have one value: those are read for the check alone, and by no loop then.
_READ = 0.0
# Such a way must take so much less than others, the check included.
_WORTH = 0.95
# Of a statement with more accesses than the first number no other way is searched where checks take no more than this
# share of the whole: searches take long there.
_FEW, _SMALL = 3, 0.03
# Where a search without parts written down says that such a way takes so much less than others, it does.
_SURELY = 0.85


def without_symmetry(facts: Mapping[str, TensorFacts]) -> dict[str, TensorFacts]:
    """Returns what is known of tensors but for which are symmetric."""
    return {name: replace(one, symmetric=False) if one.symmetric else one for name, one in facts.items()}


def cheapest_ways(
    assignment: Assignment, facts: Mapping[str, TensorFacts], ways: StatementWays, *, every: bool = True
) -> Iterator[StatementWay]:
    """Yields the way to compute a statement that takes least, with the time of checks, then others in turn.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        ways: the ways that take no matrix to be symmetric.
        every: whether all forms are looked at, even those that take longer than others.
    """
    symmetric = True in [one.symmetric for one in facts.values()]
    read = accesses_of(assignment.value) if symmetric else ()
    names = _symmetric(read, facts) if symmetric else ()
    if not names:
        yield from _sorted(ways, every)
        return
    checks = _time_of_checks(names, facts)
    few = len(read) <= _FEW
    has_price = few and ways.has_price
    # Where checks take nothing nobody needs the price, which takes a search.
    dear = not has_price or (checks > 0 and checks >= _SURELY * ways.price)
    plain = _sorted(ways, every) if few and dear else []
    if checks < _WORTH * (plain[0].nanoseconds if plain else ways.as_written):
        found = _sorted(_ways_with(names, facts, ways), every)[0]
        if not found.parts.reads_transposes:
            yield found  # which is among the others, all of which take as long or longer
        else:
            checked = _checked(found, names, checks)
            alone = not few and checks <= _SMALL * found.nanoseconds
            alone = alone or (has_price and checked.nanoseconds < _SURELY * ways.price)
            plain = plain if plain or alone else _sorted(ways, every)
            if alone or checked.nanoseconds < _WORTH * plain[0].nanoseconds:
                yield checked
    yield from plain or _sorted(ways, every)


def _sorted(ways: StatementWays, every: bool) -> list[StatementWay]:
    return sorted(ways.cheapest(), key=lambda one: one.nanoseconds) if every else ways.shortest()


def _ways_with(names: tuple[str, ...], facts: Mapping[str, TensorFacts], ways: StatementWays) -> StatementWays:
    """Returns the ways that take some matrices to be symmetric."""
    return ways.knowing({name: replace(one, symmetric=name in names) for name, one in facts.items()})


def _time_of_checks(names: tuple[str, ...], facts: Mapping[str, TensorFacts]) -> float:
    return sum(map(_time_of_check, (facts[name].sketch for name in names)))


def _time_of_check(sketch: Sketch) -> float:
    of_one_value = sketch.pattern is not None and sketch.pattern.of_one_value
    return (_READ if of_one_value else _CHECKED) * _time_to_convert(sketch)


def _checked(way: StatementWay, names: tuple[str, ...], checks: float) -> StatementWay:
    return replace(
        way,
        symmetric=names,
        nanoseconds=way.nanoseconds + checks,
        rules=(*way.rules, TRANSPOSE.name),
    )


def symmetric_ways(
    assignment: Assignment,
    facts: Mapping[str, TensorFacts],
    ways: StatementWays,
    least: float,
) -> Iterator[StatementWay]:
    """Yields all ways to compute a statement that take less than others, with the time of the checks.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        ways: the ways that take no matrix to be symmetric.
        least: the time of the cheapest of them.
    """
    names = _symmetric(accesses_of(assignment.value), facts)
    checks = _time_of_checks(names, facts)
    if not names or checks >= _WORTH * least:
        return
    for way in _ways_with(names, facts, ways).all():
        most = least if checks <= _SMALL * way.nanoseconds else _WORTH * least
        if way.parts.reads_transposes and way.nanoseconds + checks < most:
            yield _checked(way, names, checks)


def _time_to_convert(sketch: Sketch) -> float:
    return machine_profile().times.convert_into(sketch.shape[0]) * sketch.entries


def _symmetric(read: Iterable[Access], facts: Mapping[str, TensorFacts]) -> tuple[str, ...]:
    """Returns the symmetric matrices that some accesses read."""
    names = {access.tensor for access in read}
    return tuple([name for name, one in facts.items() if one.symmetric and name in names])
