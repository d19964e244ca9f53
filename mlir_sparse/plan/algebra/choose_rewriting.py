"""Chooses how to compute a statement on data at hand: as it is written, or rewritten."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    children,
    walk,
)
from mlir_sparse.plan.algebra.gathers_as_products import gathers_as_products
from mlir_sparse.plan.algebra.merged_parts import merged
from mlir_sparse.plan.algebra.normal_form import (
    NoNormalFormError,
)
from mlir_sparse.plan.algebra.statement_ways import StatementWay, StatementWays
from mlir_sparse.plan.algebra.symmetric_ways import cheapest_ways, symmetric_ways, without_symmetry
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.plan.rewrite.sum_of_terms import SUMS, has_reduction
from mlir_sparse.spec import Rewriting

__all__ = ["RankedWay", "choose_rewriting", "is_better", "ranked_ways"]

# A plan must take so much less than the statement as written by estimate, and save so many nanoseconds; a statement
# that takes less than twice that is not looked at.
_WORTH, _LEAST = 0.8, 50e3
# So much less where it takes matrices to be symmetric: loops then look up what they would scatter, or make less.
_TURNED = 0.95
# Nanoseconds of what cannot be computed: it takes too much memory.
_LONGEST = 1e18


def choose_rewriting(
    assignment: Assignment,
    facts: Mapping[str, TensorFacts],
    *,
    always: bool = False,
    has_blas: bool = True,
    cancels: bool = False,
    into_array: bool = False,
) -> Rewriting | None:
    """Returns the cheapest way to compute a statement; None for the way that it is written.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        always: whether to return it even where it gains nothing, as tests of what it computes want it.
        has_blas: whether BLAS may multiply arrays, as sums and products are those of numbers.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
        into_array: whether the result is an array although loops could leave elements out.
    """
    gathers = gathers_as_products(assignment, {name: one.kind for name, one in facts.items()})
    picking, known = gathers.time(assignment, facts), gathers.facts(facts)
    try:
        plain = without_symmetry(known)
        ways = StatementWays(gathers.assignment, plain, has_blas=has_blas, cancels=cancels, into_array=into_array)
        if not always and ways.as_written + picking < 2 * _LEAST:
            return None
        # Of what is gathered, some ways have no place to be.
        for best in cheapest_ways(gathers.assignment, known, ways, every=bool(gathers.selections)):
            way = gathers.restored(merged(best.rewriting))
            if way is not None:
                return way if always or is_better(best, ways.as_written + picking, assignment) else None
    except NoNormalFormError:
        return None
    return None


def is_better(way: StatementWay, written: float, assignment: Assignment) -> bool:
    """Returns whether a way is taken in place of the way that a statement is written.

    Args:
        way: the way.
        written: the time of the statement as it is written.
        assignment: the statement with explicit sums.
    """
    gains = way.nanoseconds <= (_TURNED if way.symmetric else _WORTH) * written and written - way.nanoseconds >= _LEAST
    # Parentheses around sums are a plan that the user made: it is followed where no other is better.
    return gains or (way.nanoseconds <= min(1.05 * written, _LONGEST) and _has_sums_in_parentheses(assignment.value))


def _has_sums_in_parentheses(node: Expr) -> bool:
    """Returns whether a product has a factor that is a sum of terms with sums over variables of their own."""
    products = [below for below in walk(node) if isinstance(below, Binary) and below.op is BinaryOp.MUL]
    factors = [factor for product in products for factor in children(product)]
    return any(isinstance(f, Binary) and f.op in SUMS and has_reduction(f) for f in factors)


@dataclass(frozen=True, slots=True)
class RankedWay:
    """One of the ways to compute a statement, for users to look at.

    Args:
        rewriting: the statement rewritten; None as it is written.
        nanoseconds: the time that it takes by estimate.
        nbytes: the bytes that its parts take by estimate.
        rules: the names of the rules that were used.
    """

    rewriting: Rewriting | None
    nanoseconds: float
    nbytes: float = 0.0
    rules: tuple[str, ...] = ()


def ranked_ways(
    assignment: Assignment,
    facts: Mapping[str, TensorFacts],
    *,
    has_blas: bool = True,
    cancels: bool = False,
    into_array: bool = False,
) -> list[RankedWay]:
    """Returns the ways to compute a statement, cheapest first, without those whose parts do not fit in memory.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        has_blas: whether BLAS may multiply arrays.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
        into_array: whether the result is an array although loops could leave elements out.
    """
    gathers = gathers_as_products(assignment, {name: one.kind for name, one in facts.items()})
    picking, known = gathers.time(assignment, facts), gathers.facts(facts)
    try:
        plain = without_symmetry(known)
        products = StatementWays(gathers.assignment, plain, has_blas=has_blas, cancels=cancels, into_array=into_array)
        ways = list(products.all())
        least = min(ways[0].as_written, *(one.nanoseconds for one in ways))
        ways += symmetric_ways(gathers.assignment, known, products, least)
    except NoNormalFormError:
        return []
    found: dict[object, RankedWay] = {}
    for way in ways:
        again = gathers.restored(merged(way.rewriting))
        if again is not None and way.nanoseconds < _LONGEST and (again.parts or again.by_blas or way.changed):
            # Ways with equal parts and times differ in the order of factors alone.
            key = frozenset(map(str, again.parts)), again.symmetric, round(way.nanoseconds)
            found.setdefault(key, RankedWay(again, way.nanoseconds, way.nbytes, way.rules))
    return sorted([RankedWay(None, ways[0].as_written + picking), *found.values()], key=lambda one: one.nanoseconds)
