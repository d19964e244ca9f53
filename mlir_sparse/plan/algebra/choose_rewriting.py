"""Chooses how to compute a statement on data at hand: as it is written, or rewritten."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlir_sparse.notation import (
    Access,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    IndexVar,
    Reduce,
    accesses_of,
    children,
    free_indices,
    walk,
)
from mlir_sparse.plan.algebra.common_factors import factored
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError, NormalForm, ProductTerm, expression_of, variables_of
from mlir_sparse.plan.algebra.part_store import TensorFacts
from mlir_sparse.plan.algebra.statement_parts import Statement
from mlir_sparse.plan.rewrite.sum_of_terms import SUMS, has_reduction
from mlir_sparse.spec import Rewriting

__all__ = ["choose_rewriting", "may_gain"]

# A plan must take so much less than the statement as written by estimate, and save so many nanoseconds; a statement
# that takes less than twice that is not looked at.
_WORTH, _LEAST = 0.8, 50e3
# Sums in parentheses are multiplied out or kept in this many ways at most.
_MOST = 64
# Parts may take so many bytes, however small operands are.
_ROOM = 64 << 20


@dataclass(frozen=True, slots=True)
class _Alternative:
    rewriting: Rewriting
    nanoseconds: float
    as_written: float


def may_gain(assignment: Assignment) -> bool:
    """Returns whether another way to compute a statement could be faster: whether rules apply to it at all.

    Args:
        assignment: the statement with explicit sums.
    """
    extents = dict.fromkeys(assignment.indices, 2.0)
    try:
        free = free_indices(assignment.value)
        terms = NormalForm(lambda _: False, lambda terms: expression_of(terms), extents, free).of(assignment.value)
    except NoNormalFormError:
        return False
    return (len(terms) > 1 and any(True for _ in factored(terms))) or any(map(_is_open, terms)) or _sums_in(assignment)


def _is_open(term: ProductTerm) -> bool:
    """Returns whether a product has three factors, a sum or a function among them, or sums inside of one factor."""
    own = [factor for factor in term.factors if variables_of(factor)]
    others = [factor for factor in own if not isinstance(factor, Access)]
    alone = (v for f in own for v in variables_of(f) & term.bound if sum(v in variables_of(g) for g in own) == 1)
    return len(own) > 2 or (len(own) > 1 and (bool(others) or any(True for _ in alone)))


def _sums_in(assignment: Assignment) -> bool:
    """Returns whether functions or quotients have sums of products inside of them."""
    nodes = [node for node in walk(assignment.value) if isinstance(node, Reduce)]
    return len(nodes) > 1


def choose_rewriting(
    assignment: Assignment, facts: Mapping[str, TensorFacts], *, always: bool = False
) -> Rewriting | None:
    """Returns the cheapest way to compute a statement; None for the way that it is written.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        always: whether to return it even where it gains nothing, as tests of what it computes want it.
    """
    try:
        if not always and _time_as_written(assignment, facts) < 2 * _LEAST:
            return None
        alternatives = list(_alternatives(assignment, facts))
    except NoNormalFormError:
        return None
    best, written = min(alternatives, key=lambda one: one.nanoseconds), alternatives[0].as_written
    gains = best.nanoseconds <= _WORTH * written and written - best.nanoseconds >= _LEAST
    # Parentheses around sums are a plan that the user made: it is followed where no other is better.
    follows = best.nanoseconds <= 1.05 * written and _has_sums_in_parentheses(assignment.value)
    if not (always or gains or follows):
        return None
    return replace(best.rewriting, account=tuple(_account(assignment, best, alternatives)))


def _has_sums_in_parentheses(node: Expr) -> bool:
    """Returns whether a product has a factor that is a sum of terms with sums over variables of their own."""
    products = [below for below in walk(node) if isinstance(below, Binary) and below.op is BinaryOp.MUL]
    factors = [factor for product in products for factor in children(product)]
    return any(isinstance(f, Binary) and f.op in SUMS and has_reduction(f) for f in factors)


def _alternatives(assignment: Assignment, facts: Mapping[str, TensorFacts]) -> Iterator[_Alternative]:
    """Yields the ways to compute a statement, of which the first keeps all sums in parentheses."""
    seen, chosen, choices = set[str](), 0, 0
    while chosen < min(1 << choices, _MOST) or chosen == 0:
        terms, form = _normal(assignment, facts, chosen)[1:]
        choices = max(choices, form.choices)
        for number, variant in enumerate(itertools.chain([terms], factored(terms))):
            text = str(expression_of(variant))
            if text not in seen:
                seen.add(text)
                statement, terms, form = _normal(assignment, facts, chosen)
                terms = next(itertools.islice(itertools.chain([terms], factored(terms)), number, None))
                found = _planned(statement, terms, frozenset(assignment.target.indices))
                names = tuple((str(name), str(written)) for name, written in form.renamed.items())
                yield replace(found, rewriting=replace(found.rewriting, renamed=names))
        chosen += 1


def _normal(
    assignment: Assignment, facts: Mapping[str, TensorFacts], chosen: int
) -> tuple[Statement, tuple[ProductTerm, ...], NormalForm]:
    """Returns a statement with its sums in parentheses multiplied out as the bits of a number choose."""
    extents = _extents(assignment.value, facts)
    room, itemsize = _room(facts), max((one.kind.dtype.itemsize for one in facts.values()), default=8)
    statement = Statement(assignment.target.tensor, facts, extents, room, itemsize)
    free = free_indices(assignment.value)
    form = NormalForm(lambda number: bool(chosen >> number & 1), statement.closed_sum, statement.extents, free)
    return statement, form.of(assignment.value), form


def _time_as_written(assignment: Assignment, facts: Mapping[str, TensorFacts]) -> float:
    statement, terms, _ = _normal(assignment, facts, 0)
    kept = frozenset(assignment.target.indices)
    return statement.written + sum(statement.time_as_written(term, kept) for term in terms)


def _planned(statement: Statement, terms: tuple[ProductTerm, ...], kept: frozenset[IndexVar]) -> _Alternative:
    written = statement.written + sum(statement.time_as_written(term, kept) for term in terms)
    nests = tuple(statement.nest(term, kept & variables_of(term)) for term in terms)
    total = statement.nanoseconds + sum(statement.time(term.factors, kept).nanoseconds for term in nests)
    return _Alternative(
        Rewriting(tuple(statement.parts), expression_of(nests)), total if statement.fits else math.inf, written
    )


def _room(facts: Mapping[str, TensorFacts]) -> float:
    """Returns how many bytes parts may take: as many as operands do, or the least."""
    operands = sum(one.sketch.entries * (one.kind.dtype.itemsize + 4 * bool(one.sketch.axes)) for one in facts.values())
    return max(_ROOM, operands)


def _extents(value: Expr, facts: Mapping[str, TensorFacts]) -> dict[IndexVar, float]:
    found: dict[IndexVar, float] = {}
    for access in accesses_of(value):
        for subscript, extent in zip(access.subscripts, facts[access.tensor].sketch.shape, strict=True):
            if isinstance(subscript, IndexVar):
                found[subscript] = float(extent)
    return found


def _account(assignment: Assignment, best: _Alternative, alternatives: list[_Alternative]) -> Iterator[str]:
    yield f"rewritten: {replace(assignment, value=best.rewriting.value)}"
    for part in best.rewriting.parts:
        yield f"  with {part}"
    others = sorted(one.nanoseconds for one in alternatives if one is not best)
    more = f", {', '.join(_time(one) for one in others[:3])} otherwise" if others else ""
    yield f"because: {_time(best.nanoseconds)} by estimate, {_time(alternatives[0].as_written)} as written{more}"


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:,.3g} ms"
