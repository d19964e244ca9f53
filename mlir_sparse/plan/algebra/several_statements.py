"""Several statements planned together: which read others' values in their place, and which parts they share.

Values that no output needs are not computed. Of the values that may be inlined, those are whose statements take less by
estimate with all of them or none, changed one at a time while that helps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.sketch import Sketch
from mlir_sparse.notation import Access, Assignment, AssignOp, accesses_of
from mlir_sparse.plan.algebra.finite_values import makes_finite
from mlir_sparse.plan.algebra.inlined_statements import (
    OrderedStatement,
    Refusal,
    inlined,
    is_elementwise,
    why_not_inlined,
)
from mlir_sparse.plan.algebra.known_parts import NOTHING_KNOWN, KnownParts
from mlir_sparse.plan.algebra.merged_parts import merged
from mlir_sparse.plan.algebra.normal_form import NoNormalFormError, variables_of
from mlir_sparse.plan.algebra.ruled_statement import keeps_entries, ruled_statement
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.plan.algebra.way_among_statements import WayAmongStatements, choose_way
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import KernelSpec, Part, Rewriting

__all__ = ["PlannedStatement", "StatementsPlan", "plan_statements"]

# Several values are tried in this many combinations at most.
_MOST = 16
# A plan with other values inlined must take so much less by estimate, and save so many nanoseconds.
_WORTH, _LEAST = 0.8, 10e3


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement to compute.

    Args:
        origin: the number of the statement that it is, or that it is a part of.
        assignment: the statement, with values of others inlined.
        rewriting: how it is rewritten; None for the way that it is written.
        is_part: whether it makes a part that statements share.
        dtype: the element type of a part; None for that of the statement.
        is_array: whether a part is an array although loops could leave elements out.
        sketches: what is known of its operands, for statements that are rewritten.
    """

    origin: int
    assignment: Assignment
    rewriting: Rewriting | None = None
    is_part: bool = False
    dtype: DType | None = None
    is_array: bool = False
    sketches: tuple[Sketch, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementsPlan:
    """The statements to compute, in order.

    Args:
        statements: the statements.
        account: what `explain()` says of them, a line each.
    """

    statements: tuple[PlannedStatement, ...]
    account: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Trial:
    """The statements with the values of some inlined.

    Args:
        statements: by its number each statement that is computed.
        ways: how each is computed; None where no rule applies to it.
        facts: what is known of each tensor.
        nanoseconds: the time of all.
    """

    statements: Mapping[int, OrderedStatement]
    ways: Mapping[int, WayAmongStatements | None]
    facts: Mapping[str, TensorFacts]
    nanoseconds: float


def plan_statements(
    statements: Sequence[OrderedStatement],
    facts: Mapping[str, TensorFacts],
    outputs: Collection[str],
    *,
    always: bool = False,
    cancels: bool = False,
) -> StatementsPlan:
    """Returns the cheapest plan by estimate for several statements.

    Args:
        statements: the statements, in order.
        facts: what is known of each tensor that has a value before the first of them.
        outputs: the tensors whose last values are wanted.
        always: whether to inline all values that may be, whatever that takes, as tests of what is computed want it.
        cancels: whether terms of numbers that round may cancel others.
    """
    planner = _Planner(statements, facts, outputs, cancels=cancels)
    written = planner.trial(frozenset())
    best = planner.trial(planner.fused) if planner.fused else written
    if best.nanoseconds > written.nanoseconds:
        planner.fused, best = frozenset(), written
    if always:
        best = planner.trial(planner.open)
    elif planner.open > planner.fused and written.nanoseconds >= _LEAST:
        found = planner.search(best)
        best = found if _is_worth(best, found) else best
    return _Writer(planner, best, written).plan()


def _is_worth(before: _Trial, after: _Trial) -> bool:
    """Returns whether a trial saves enough, of the time of the statements in which it differs."""
    same = sum(
        way.nanoseconds
        for at, way in before.ways.items()
        if way is not None and before.statements[at] == after.statements.get(at) and after.ways[at] == way
    )
    saved = before.nanoseconds - after.nanoseconds
    return after.nanoseconds - same <= _WORTH * (before.nanoseconds - same) and saved >= _LEAST


class _Planner:
    """Statements, and what may be done with them."""

    def __init__(
        self,
        statements: Sequence[OrderedStatement],
        facts: Mapping[str, TensorFacts],
        outputs: Collection[str],
        *,
        cancels: bool,
    ) -> None:
        self._cancels = cancels
        self._found: dict[object, WayAmongStatements | None] = {}
        self.statements = statements
        self.facts = facts
        self.outputs = frozenset(outputs)
        targets = [one.target for one in statements]
        # Tensors with one value from the first statement to the last: what reads them may be computed anywhere.
        self.stable = (facts.keys() - set(targets)) | {
            one.target for one in statements if targets.count(one.target) == 1 and one.target not in facts
        }
        self.alive = self._needed(dict(enumerate(statements)))
        self.refusals = {at: self._why_kept(at) for at in self.alive}
        readers = {at: [r for r in self.alive if targets[at] in _names(statements[r])] for at in self.alive}
        self.open = frozenset(at for at in self.alive if not self.refusals[at] and readers[at])
        self.fused = frozenset(at for at in self.open if self._is_fused(at, readers[at]))

    def _why_kept(self, at: int) -> str:
        statement = self.statements[at]
        changing = [name for name, _ in statement.operands if name not in self.stable]
        if statement.target not in self.stable:
            return "it is assigned more than once"
        return f"{changing[0]} changes" if changing else why_not_inlined(statement)

    def _is_fused(self, at: int, readers: list[int]) -> bool:
        """Returns whether a value without sums is read once, by loops over just its elements: no step is repeated."""
        statement = self.statements[at]
        if len(readers) > 1 or statement.target in self.outputs or not is_elementwise(statement):
            return False
        sparse = [kind for _, kind in statement.operands if is_sparse(kind)]
        reader = self.statements[readers[0]].assignment
        reads = [access for access in accesses_of(reader.value) if access.tensor == statement.target]
        return len(sparse) < 2 and len(reads) == 1 and set(reader.indices) <= set(reads[0].indices)

    def _needed(self, statements: Mapping[int, OrderedStatement]) -> frozenset[int]:
        """Returns the numbers of the statements whose values outputs need."""
        names, found = set(self.outputs), frozenset[int]()
        while True:
            more = frozenset(at for at, one in statements.items() if one.target in names)
            if more == found:
                return found
            found = more
            names |= {name for at in found for name in _names(statements[at])}

    # -- trials --------------------------------------------------------------------------------------------------

    def search(self, best: _Trial) -> _Trial:
        """Returns the best trial: all values inlined or none, then one by one."""
        tried = {self.fused: best}
        chosen = min((self.fused, self.open), key=lambda one: self._tried(one, tried))
        for at in sorted(self.open - self.fused):
            other = chosen ^ {at}
            if len(tried) < _MOST and self._tried(other, tried) < 0.99 * self._tried(chosen, tried):
                chosen = other
        return tried[chosen]

    def _tried(self, chosen: frozenset[int], tried: dict[frozenset[int], _Trial]) -> float:
        if chosen not in tried:
            tried[chosen] = self.trial(chosen)
        return tried[chosen].nanoseconds

    def trial(self, chosen: frozenset[int]) -> _Trial:
        """Returns the statements with the values of some inlined wherever they may be."""
        found = dict[int, OrderedStatement]()
        definitions = {self.statements[at].target: at for at in chosen}
        opened = set[int]()
        for at in sorted(self.alive):
            found[at] = self.statements[at]
            for name in tuple(name for name, _ in found[at].operands if name in definitions):
                other = inlined(found[at], found[definitions[name]])
                if isinstance(other, Refusal):
                    self.refusals[definitions[name]] = other.reason
                else:
                    found[at] = other
                    if definitions[name] not in self.fused:
                        opened.add(at)
        needed = self._needed(found)
        kept = {at: one for at, one in found.items() if at in needed}
        facts = dict(self.facts)
        ways = self._ways(kept, facts)
        lost = any(ways[at] is None for at in opened & needed)
        total = math.inf if lost else sum(way.nanoseconds for way in ways.values() if way is not None)
        return _Trial(kept, ways, facts, total)

    def _ways(
        self, statements: Mapping[int, OrderedStatement], facts: dict[str, TensorFacts]
    ) -> dict[int, WayAmongStatements | None]:
        known = dict[DType, KnownParts]()
        ways = dict[int, WayAmongStatements | None]()
        for at, one in statements.items():
            dtype, steady = one.output.dtype, all(name in self.stable for name, _ in one.operands)
            before = known.get(dtype, NOTHING_KNOWN)
            way = ways[at] = self._way(at, one, facts, before.of(_names(one), one.target) if steady else NOTHING_KNOWN)
            facts[one.target] = replace(_facts_of(one, way, facts), finite=_is_finite(one, facts))
            if way is not None and steady and not dtype.is_narrow:
                known[dtype] = before.joined(self._with_value(one, way, facts[one.target]))
        return ways

    def _way(
        self, at: int, one: OrderedStatement, facts: Mapping[str, TensorFacts], known: KnownParts
    ) -> WayAmongStatements | None:
        """Returns how a statement is computed; equal ones on equal data are looked at once for all trials."""
        text = at if one is self.statements[at] else one.assignment
        key = text, tuple(facts.get(name) for name in _names(one)), tuple(known.made.items())
        if key not in self._found:
            self._found[key] = _way_of(one, facts, known, cancels=self._cancels)
        return self._found[key]

    def _with_value(self, one: OrderedStatement, way: WayAmongStatements, facts: TensorFacts) -> KnownParts:
        """Returns what statements after one may read: its parts and, if it is a product, its value."""
        if not way.terms:
            return way.known
        target, (term, *others) = one.assignment.target, way.terms
        whole = set(target.indices) == variables_of(term) and len(set(target.indices)) == len(target.subscripts)
        if others or term.negative or not whole or target.tensor not in self.stable:
            return way.known
        if one.assignment.op is not AssignOp.ASSIGN or not term.bound:
            return way.known
        return way.known.with_product(target, term.factors, facts)


def _names(statement: OrderedStatement) -> tuple[str, ...]:
    return tuple(name for name, _ in statement.operands)


def _way_of(
    one: OrderedStatement, facts: Mapping[str, TensorFacts], known: KnownParts, *, cancels: bool
) -> WayAmongStatements | None:
    """Returns how a statement is computed; None for one that rules do not know."""
    if not one.whole:
        return None
    spec = KernelSpec(one.assignment, one.operands, one.output)
    ruled, own = ruled_statement(spec), {name: replace(facts[name], kind=kind) for name, kind in one.operands}
    if ruled is None:
        return None
    try:
        into_array = ruled.of_numbers and one.output.encoding is None
        if ruled.kind is None:
            cancels = cancels or ruled.is_exact
            return choose_way(ruled.assignment, own, known, cancels=cancels, into_array=into_array)
        cancels = ruled.may_cancel(licensed=cancels)
        way = choose_way(ruled.assignment, own, has_blas=ruled.of_numbers, cancels=cancels, into_array=into_array)
    except NoNormalFormError:
        return None
    # Other statements share no parts of products that are read as numbers.
    rewriting = None if way.rewriting is None else ruled.restored(way.rewriting)
    if rewriting is not None and not keeps_entries(rewriting, spec):
        return None
    return replace(way, rewriting=rewriting, known=NOTHING_KNOWN, terms=())


def _is_finite(one: OrderedStatement, facts: Mapping[str, TensorFacts]) -> bool:
    """Returns whether the value of a statement is finite where operands are."""
    known = (facts.get(name) for name, _ in one.operands)
    return makes_finite(one.assignment.value) and all(each is None or each.finite for each in known)


def _facts_of(one: OrderedStatement, way: WayAmongStatements | None, facts: Mapping[str, TensorFacts]) -> TensorFacts:
    """Returns what is known of the value of a statement before it is computed."""
    space = float(math.prod(one.shape))
    if not is_sparse(one.output):
        return TensorFacts(one.output, Sketch(one.shape, space))
    if way is not None:
        return TensorFacts(one.output, Sketch(one.shape, min(space, way.entries)), min(space, way.most))
    entries = [facts[name].sketch.entries for name, kind in one.operands if is_sparse(kind) and name in facts]
    return TensorFacts(one.output, Sketch(one.shape, min([space, sum(entries) or space])), space)


class _Writer:
    """Writes a trial as statements in order, with the parts that several of them read as statements."""

    def __init__(self, planner: _Planner, trial: _Trial, written: _Trial) -> None:
        self._planner = planner
        self._trial = trial
        self._written = written
        self._rewritings = {at: way.rewriting for at, way in trial.ways.items() if way and way.rewriting}
        self._made_by = {part.target.tensor: at for at, one in self._rewritings.items() for part in one.parts}
        self._readers = {at: self._read_from(at) for at in self._rewritings}

    def _read_from(self, at: int) -> frozenset[str]:
        """Returns the tensors and parts that a rewritten statement reads, but which it neither has nor makes."""
        rewriting, statement = self._rewritings[at], self._trial.statements[at]
        values = (*(part.value for part in rewriting.parts), rewriting.value)
        read = {access.tensor for value in values for access in accesses_of(value)}
        own = {part.target.tensor for part in rewriting.parts}
        return frozenset(read - own - set(statement.assignment.inputs))

    def plan(self) -> StatementsPlan:
        """Returns the plan."""
        others = frozenset[str]().union(*self._readers.values())
        apart = {at for at, names in self._readers.items() if names}
        apart |= {self._made_by[name] for name in others if name in self._made_by}
        statements: list[PlannedStatement] = []
        for at, one in self._trial.statements.items():
            rewriting = self._rewritings.get(at)
            if rewriting is None or at not in apart:
                sketches = tuple(self._trial.facts[name].sketch for name, _ in one.operands) if rewriting else ()
                way = None if rewriting is None else merged(rewriting)
                statements.append(PlannedStatement(at, one.assignment, way, sketches=sketches))
                continue
            for part in rewriting.parts:
                way = Rewriting((), part.value, by_blas=True) if part.by_blas else None
                made = PlannedStatement(at, _assignment_of(part), way, True, part.dtype, part.is_array)
                statements.append(made)
            way = Rewriting((), rewriting.value, by_blas=True) if rewriting.by_blas else None
            statements.append(PlannedStatement(at, replace(one.assignment, value=rewriting.value), way))
        return StatementsPlan(tuple(statements), tuple(self._account(others)))

    def _account(self, shared: frozenset[str]) -> list[str]:
        planner, lines = self._planner, list[str]()
        for at, one in enumerate(planner.statements):
            if at not in planner.alive:
                lines.append(f"{one.target} is not computed: no output needs it")
            elif at not in self._trial.statements:
                lines.append(f"{one.target} is computed where it is read")
            elif one.target not in planner.outputs:
                reason = planner.refusals.get(at) or "to compute it where it is read takes no less by estimate"
                lines.append(f"{one.target} is computed once: {reason}")
        for name in sorted(shared):
            readers = [planner.statements[at].target for at, names in self._readers.items() if name in names]
            lines.append(f"{name} is made once, and read by {' and '.join(readers)} too")
        now, before = self._trial.nanoseconds, self._written.nanoseconds
        if lines and now < before:
            lines.append(f"because: {now / 1e6:,.3g} ms by estimate, {before / 1e6:,.3g} ms statement by statement")
        return lines


def _assignment_of(part: Part) -> Assignment:
    target = Access(part.target.tensor, part.target.indices)
    return Assignment(target, AssignOp.ASSIGN, part.value)
