"""How one of several statements is computed: it may read what those before it have made."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._search import NestTime
from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Assignment
from mlir_sparse.plan.algebra.choose_rewriting import is_better
from mlir_sparse.plan.algebra.known_parts import NOTHING_KNOWN, KnownParts
from mlir_sparse.plan.algebra.normal_form import ProductTerm
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.spec import Rewriting

__all__ = ["WayAmongStatements", "choose_way"]

# A statement of fewer nanoseconds is not looked at.
_LEAST = 100e3


@dataclass(frozen=True, slots=True)
class WayAmongStatements:
    """How a statement among others is computed.

    Args:
        rewriting: how it is rewritten; None for the way that it is written.
        nanoseconds: the time, that of its parts included.
        entries: the entries of its result.
        most: the most entries that the result can have.
        known: the parts made so far, those of statements before included.
        terms: the statement as a sum of products, all sums in parentheses kept.
    """

    rewriting: Rewriting | None
    nanoseconds: float
    entries: float
    most: float
    known: KnownParts
    terms: tuple[ProductTerm, ...]


def choose_way(
    assignment: Assignment,
    facts: Mapping[str, TensorFacts],
    earlier: KnownParts = NOTHING_KNOWN,
    *,
    has_blas: bool = True,
    cancels: bool = False,
    into_array: bool = False,
) -> WayAmongStatements:
    """Returns the cheapest way to compute one of several statements.

    Args:
        assignment: the statement with explicit sums.
        facts: what is known of each tensor that it reads.
        earlier: the parts that statements before have made, which it may read.
        has_blas: whether BLAS may multiply arrays.
        cancels: whether terms may cancel others, and differences and squares be multiplied out.
        into_array: whether the result is an array although loops could leave elements out.

    Raises:
        NoNormalFormError: for a statement that is computed as it is written.
    """
    ways = StatementWays(assignment, facts, has_blas=has_blas, earlier=earlier, cancels=cancels, into_array=into_array)
    terms, written = ways.terms, ways.as_written
    if (there := earlier.product(terms, assignment.target)) is not None:
        read = ways.nest_of([there])
        if read.nanoseconds < written:
            return WayAmongStatements(Rewriting((), there), read.nanoseconds, *_entries((read,)), earlier, terms)
    if written >= _LEAST:
        found = list(ways.cheapest())
        best = min(found, key=lambda one: one.nanoseconds)
        if is_better(best, found[0].as_written, assignment):
            return WayAmongStatements(
                best.rewriting, best.nanoseconds, *_entries(best.results), best.parts.known, terms
            )
    results = tuple(ways.nest_of(term.factors) for term in terms)
    return WayAmongStatements(None, written, *_entries(results), earlier, terms)


def _entries(results: tuple[NestTime, ...]) -> tuple[float, float]:
    return sum(one.entries for one in results), sum(one.most for one in results)
