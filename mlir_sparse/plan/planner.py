"""Kernel to Program: the sequence of steps that computes an assignment.

Accumulations write a dense result one after another; one pass inserts a sparse result, from operands and temporaries
that can all be co-iterated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Expr, Fold, IndexVar, Negate, Reduce, ReduceOp, accesses_of, free_indices
from mlir_sparse.notation.entry_functions import is_about_entries
from mlir_sparse.plan.mapping.coordinate_lookup import looked_up, looked_up_everywhere
from mlir_sparse.plan.nests.common_subexpressions import KnownTemporaries
from mlir_sparse.plan.nests.fibre_products import compute_by_fibres, find_fibres
from mlir_sparse.plan.nests.gather_first import PickEmitter
from mlir_sparse.plan.nests.initial_addends import inputs_first, with_initial_addends
from mlir_sparse.plan.nests.level_space_nests import level_nest, space_of
from mlir_sparse.plan.nests.padded_loops import within_edges
from mlir_sparse.plan.nests.rewritten_parts import RewrittenParts
from mlir_sparse.plan.nests.round_once import accumulates, rounded
from mlir_sparse.plan.nests.sampled_results import compute_at_entries, find_sampled
from mlir_sparse.plan.nests.sparsifier_limits import SparsifierPayloads
from mlir_sparse.plan.nests.split_accumulations import Splitter
from mlir_sparse.plan.nests.structural_plans import StructuralPlanner
from mlir_sparse.plan.nests.unsorted_temporaries import leave_unsorted
from mlir_sparse.plan.nests.zeros_in_rows import with_zeros_in_rows
from mlir_sparse.plan.order.loop_choice import LoopChoice, NestToOrder
from mlir_sparse.plan.order.loop_order import choose_loops
from mlir_sparse.plan.order.storage_choice import (
    can_insert_into,
    can_iterate_alone,
    has_limited_capacity,
    inserts_without_dense_levels,
    is_sparse,
    needs_level_space,
    why_not_inserted,
)
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Program
from mlir_sparse.plan.program_builder import Values, scheduled
from mlir_sparse.plan.rewrite.negate_factors import NEGATE_FACTORS
from mlir_sparse.plan.rewrite.sum_of_terms import Term, addends, assigned, combine, stored_indices, unites
from mlir_sparse.plan.rewrite.sums_as_folds import SUMS_AS_FOLDS
from mlir_sparse.plan.storage_types import between_conversions, stores_alone
from mlir_sparse.program import FibreView, Position
from mlir_sparse.spec import KernelSpec, entry_dtype, vanishes

__all__ = ["plan"]

# A union of n operands compiles to 2^n loop bodies with unpredictable branches: two steps add three matrices of
# different patterns in 0.6 of the time of one nest, and matrices of the same pattern in 1.2 of it.
_WIDEST_UNION = 2
# On a GPU one more step means another symbolic phase, synchronisation and temporary.
_WIDEST_ON_GPU = 4

_ACCUMULATION = {
    AccumulateMode.REPLACE: "elementwise, every element once",
    AccumulateMode.START: "accumulates from the identity",
    AccumulateMode.CONTINUE: "accumulates in place",
}


def plan(
    spec: KernelSpec, *, densified: bool = False, order: tuple[str, ...] | None = None, loops_only: bool = False
) -> Program:
    """Plans a kernel: returns its steps, each with its reason.

    Args:
        spec: a kernel that passed `check_spec`.
        densified: whether to read all operands from dense arrays.
        order: the names of the index variables in loop order, outermost first; chosen by cost when absent.
        loops_only: whether to use loop nests only, as for a GPU, without native steps on entries.

    Raises:
        UnsupportedError, ScheduleError: for a case that no plan covers, and an order of other index variables.
    """
    if stores_alone(spec):
        return between_conversions(spec, partial(plan, densified=densified, order=order), loops_only)
    assignment = spec.planned
    # Threads of a GPU have f32 accumulators in registers.
    wide = not loops_only and accumulates(spec.explicit.value)  # parts accumulate where the rest may not
    planner = _Planner(spec, densified, scheduled(spec, order), loops_only, wide)
    result = planner.values.result(assignment.target.tensor)
    variables = tuple(s for s in assignment.target.subscripts if isinstance(s, IndexVar))
    planner.parts.make()
    value, final = planner.parts.read(assigned(assignment)), None
    if planner.values.output.dtype != spec.output.dtype:
        final, result = Access(result, variables), planner.values.fresh(result, "wide")
    if not loops_only and planner.picks.whole(Access(result, variables), value):
        pass
    elif is_about_entries(value := planner.values.applied(SUMS_AS_FOLDS, planner.picks.picked(value))):
        result = planner.entries(result, variables, value)
    elif (encoding := planner.values.output.encoding) is None:
        if not planner.parts.whole(Access(result, variables), value):
            planner.values.declare(result, planner.values.output)
            planner.dense(result, variables, planner.split.terms(value))
    else:
        result = planner.sparse(result, variables, planner.parts.first(value, variables), encoding)
    types, steps = dict(planner.values.types()), list(planner.values.steps)
    if final is not None:
        rounded(steps, final, result, types, spec.output)
        result = final.tensor
    made = with_initial_addends(inputs_first(spec, steps), types)
    ordered = made if loops_only else leave_unsorted(spec, with_zeros_in_rows(made, types, result), types, result)
    return Program(spec, tuple(types.items()), ordered, result, planner.values.notes(), planner.values.licences())


class _Planner:
    def __init__(
        self, spec: KernelSpec, densified: bool, order: tuple[IndexVar, ...] | None, loops_only: bool, wide: bool
    ) -> None:
        self.loops_only = loops_only
        self.values = Values(spec, order, wide)
        self.temporaries = KnownTemporaries(renames=not (spec.assignment.ranges or spec.assignment.exists))
        self.picks = PickEmitter(self.values)
        self.split = Splitter(
            self.values, self.materialize, self._positions, lambda node: self.structural.value(node), self._fold
        )
        self.payloads = SparsifierPayloads(self.values, self.materialize, densified)
        self.structural = StructuralPlanner(self.values, self._everywhere, loops_only=loops_only)
        make = self._part, self._array, self._onto
        self.parts = RewrittenParts(self.values, self.picks.picked, *make, spec.rewriting, calls=not loops_only)

    def entries(self, result: str, variables: tuple[IndexVar, ...], value: Expr) -> str:
        """Emits the steps of an expression on stored entries; returns the name of the value."""
        output = self.values.output
        if output.encoding is None:
            self.values.declare(result, output)
            self.structural.dense(result, variables, value)
            return result
        return self.structural.sparse(result, variables, value, output.encoding)

    def _everywhere(self, node: Expr) -> Access:
        """Computes an expression into a dense temporary."""
        return Access(self._array(self.values.fresh(), node, free_indices(node)), free_indices(node))

    def _array(self, name: str, node: Expr, variables: tuple[IndexVar, ...]) -> str:
        """Computes an expression into an array with a name, which it returns."""
        self.values.declare(name, self.values.typed(None, variables))
        self.dense(name, variables, self.split.terms(node))
        return name

    def _onto(self, name: str, node: Expr, variables: tuple[IndexVar, ...]) -> None:
        for term in self.split.closed_terms(self.split.terms(node)):
            self._accumulate(Access(name, variables), term, AccumulateMode.CONTINUE)

    # -- terms to steps ------------------------------------------------------------------------------------------

    def dense(self, result: str, variables: tuple[IndexVar, ...], terms: tuple[Term, ...]) -> None:
        """Emits the steps that leave the sum of the terms in a dense value."""
        target = Access(result, variables)
        terms = self.split.closed_terms(terms) if len(terms) > 1 or terms[0].negative else terms
        whole = [term for term in terms if not term.indices and not self._reads_sparse(term.body)]
        rest = [term for term in terms if term not in whole]
        if whole:
            body = self.payloads.dense_payload(combine(whole))
            reason = "the operands that are dense, elementwise"
            self.values.emit(Generic(target, AccumulateMode.REPLACE, ReduceOp.SUM, variables, (), body, True, reason))
        for term in rest:
            started = bool(whole) or term is not rest[0]
            self._accumulate(target, term, AccumulateMode.CONTINUE if started else AccumulateMode.START)

    def _accumulate(self, target: Access, term: Term, mode: AccumulateMode) -> None:
        variables = tuple(s for s in target.subscripts if isinstance(s, IndexVar))
        sums = term.op in (ReduceOp.SUM, ReduceOp.OR)  # missing entries add nothing, and never make false true
        body = self.payloads.payload(term.body, sums=sums, reduces=bool(term.indices))
        entries = self._reads_sparse(body)
        if self.loops_only:
            body = looked_up(body, self.values)
        if self._over_levels(target, term, body, mode):
            return
        if self.loops_only and not term.indices:
            body = looked_up_everywhere(body, target, self.values)
        choice = self._choice(NestToOrder(variables, term.indices, body, None, False))
        body = within_edges(self.values.converted(body, choice), target, (), self.values)
        if term.negative:
            body = self.values.applied(NEGATE_FACTORS, Negate(body))
        if mode is AccumulateMode.START and not term.indices and not entries:
            mode = AccumulateMode.REPLACE
        reason = _ACCUMULATION[mode]
        nested = Generic(target, mode, term.op, choice.order, term.indices, body, choice.in_order, reason)
        views = {step.result for step in self.values.steps if isinstance(step, FibreView)}
        short = len(variables) == 1 and any(access.tensor in views for access in accesses_of(body))
        self.values.emit(replace(nested, order_reason=choice.order_reason, short_rows=short))

    def _over_levels(self, target: Access, term: Term, body: Expr, mode: AccumulateMode) -> bool:
        """Emits a loop nest in the level space of the one sparse operand, if that is necessary and possible."""
        sparse = [a for a in accesses_of(body) if is_sparse(self.values.type_of(a.tensor))]
        encoding = self.values.type_of(sparse[0].tensor).encoding if len(sparse) == 1 else None
        if encoding is None or not needs_level_space(encoding, body):
            return False
        space = space_of(encoding)
        if space is None or not can_iterate_alone(space.encoding):
            return False
        view = self.values.view_name(sparse[0].tensor)
        nest = level_nest(space, view, sparse[0], target, body, term.indices)
        if not nest.lowers:
            return False
        if self.values.order is not None:
            raise UnsupportedError(
                f"expected no order of loops over the levels of {sparse[0].tensor}, which are as it is stored "
                f"({encoding.map_text()}): leave the order out of the schedule, or convert it"
            )
        self.values.view(sparse[0].tensor, space)
        payload = within_edges(nest.payload, nest.target, nest.frames, self.values)
        payload = self.values.applied(NEGATE_FACTORS, Negate(payload)) if term.negative else payload
        kept = set(nest.target.subscripts)
        reductions = tuple(variable for variable in nest.loops if variable not in kept)
        reason = f"{_ACCUMULATION[mode]}, over the levels of {sparse[0].tensor}"
        self.values.emit(
            Generic(nest.target, mode, term.op, nest.loops, reductions, payload, True, reason, nest.frames)
        )
        return True

    def sparse(self, result: str, variables: tuple[IndexVar, ...], value: Expr, encoding: Encoding | None) -> str:
        """Emits the steps that leave an expression in a sparse value; returns its name."""
        terms = self.split.terms(value)
        if not self._inserts(terms, variables):
            return self._by_way_of_dense(result, variables, terms, encoding)
        if len(terms) > 1:
            terms = tuple(Term(self.split.closed_term(term), negative=term.negative) for term in terms)
            united = unites(combine(terms), self.values.sparse_names())
            if not united or not self._inserts(terms, variables):
                return self._by_way_of_dense(result, variables, terms, encoding)
            while (together := self._in_one_union(terms)) < len(terms):
                first = self.materialize(combine(terms[:together]), variables)
                self.values.note(first.tensor, f"a union of more than {self._widest} is made in several steps")
                terms = (Term(first), *terms[together:])
            terms = (Term(combine(terms)),)
        return self._insert(result, variables, terms[0], encoding)

    @property
    def _widest(self) -> int:
        return _WIDEST_ON_GPU if self.loops_only else _WIDEST_UNION

    def _in_one_union(self, terms: tuple[Term, ...]) -> int:
        """Returns the number of leading terms that one nest adds: as many as read few enough sets of entries."""
        sparse = self.values.sparse_names()
        patterns: set[frozenset[Access]] = set()
        for count, term in enumerate(terms):
            patterns.add(frozenset(access for access in accesses_of(term.body) if access.tensor in sparse))
            if len(patterns) > self._widest:
                return count
        return len(terms)

    def _insert(self, result: str, variables: tuple[IndexVar, ...], term: Term, encoding: Encoding | None) -> str:
        body = self.payloads.payload(term.signed, sums=True, reduces=bool(term.indices))
        if not self._skips(body, variables):
            return self._by_way_of_dense(result, variables, (replace(term, body=body, negative=False),), encoding)
        if encoding is not None and self.values.order is None:
            summed = replace(term, body=body, negative=False)
            fibres = find_fibres(variables, summed, encoding, self.values)
            if fibres is not None:
                compute_by_fibres(result, variables, summed, encoding, fibres, self.values, self._accumulate)
                return result
        choice = self._choice(NestToOrder(variables, term.indices, body, encoding, True))
        body = self.values.converted(body, choice)
        assert choice.storage is not None
        storage = self.values.widened(choice.storage)
        mode = AccumulateMode.START if term.indices else AccumulateMode.REPLACE
        sampled = self._sampled(variables, body, choice, (storage, encoding))
        if sampled is not None:
            storage = self.values.encoding_of(sampled.tensor)
        direct = encoding is None or storage == encoding
        target = Access(result if direct else self.values.fresh(result, "natural"), variables)
        self.values.declare(target.tensor, self.values.typed(storage, variables))
        reason = "inserts in the order of the loops"
        nested = Generic(target, mode, term.op, choice.order, term.indices, body, choice.in_order, reason)
        nested = replace(nested, order_reason=choice.order_reason)
        if sampled is None:
            self.values.emit(nested)
        else:
            compute_at_entries(target.tensor, nested, sampled, self.values)
        if direct:
            return result
        assert encoding is not None
        ordered, kind = can_insert_into(encoding), self.values.typed(encoding, variables)
        reason = "the loops cannot insert in the order asked for" if ordered else why_not_inserted(encoding)
        self.values.conversion(result, target.tensor, kind, has_limited_capacity(encoding), reason)
        return result

    def _sampled(
        self,
        variables: tuple[IndexVar, ...],
        body: Expr,
        choice: LoopChoice,
        storages: tuple[Encoding | None, ...],
    ) -> Access | None:
        """Returns the operand whose entries the result has, if loops visit them one by one."""
        outer = set(choice.order[: len(variables)]) == set(variables)
        if self.loops_only or not outer:
            return None
        given = [storage for storage in storages if storage is not None]
        return find_sampled(variables, body, given, self.values.mapping())

    def _by_way_of_dense(
        self, result: str, variables: tuple[IndexVar, ...], terms: tuple[Term, ...], encoding: Encoding | None
    ) -> str:
        """Computes a result that may be nonzero at missing entries as a dense value, and drops zeros afterwards."""
        dense = self.values.fresh(result, "dense")
        self.values.declare(dense, self.values.typed(None, variables))
        self.dense(dense, variables, terms)
        if encoding is None:
            return dense
        reason, kind = "the expression has entries where its operands have none", self.values.typed(encoding, variables)
        self.values.conversion(result, dense, kind, True, reason)
        return result

    def _choice(self, nest: NestToOrder) -> LoopChoice:
        nest = replace(nest, preferred=self.values.preferred)
        choice = choose_loops(nest, self.values.mapping(), self.values.order)
        assert choice is not None, "the order of the result's variables first can always insert"
        return choice

    def _fold(self, node: Fold) -> Access:
        """Computes a fold of stored entries into an array that is initialised with the identity."""
        name, kept = self.values.fresh(), free_indices(node)
        with self.values.computing(entry_dtype(node, self.values.dtype, self.values.dtypes())):
            self.values.declare(name, self.values.typed(None, kept))
            self.structural.dense(name, kept, node)
        return Access(name, kept)

    def _positions(self, node: Reduce) -> Access:
        """Computes the values of an `argmax` or `argmin`, and finds the positions in them."""
        (variable,) = node.indices
        kept = tuple(index for index in free_indices(node.body) if index != variable)
        there = isinstance(node.body, Access) and node.body.subscripts == (*kept, variable)
        operand = node.body if there else self.materialize(node.body, (*kept, variable))
        assert isinstance(operand, Access)
        name = self.values.fresh()
        with self.values.computing(INTEGER):
            self.values.declare(name, self.values.typed(None, kept))
        greatest = node.op is ReduceOp.ARGMAX
        self.values.emit(Position(name, operand.tensor, greatest, "its value is a place, not a value"))
        return Access(name, kept)

    # -- temporaries ---------------------------------------------------------------------------------------------

    def materialize(self, node: Expr, variables: tuple[IndexVar, ...] | None = None) -> Access:
        """Computes an expression into a temporary, which is sparse if each of its variables runs over sparse storage.

        A common subexpression is computed once.
        """
        variables = free_indices(node) if variables is None else variables
        dtype = self.values.dtype
        name = self.temporaries.known(node, variables, dtype)
        if name is None:
            name = self._compute(self.values.fresh(), node, variables)
            self.temporaries.add(node, variables, dtype, name)
        return Access(name, variables)

    def _compute(self, name: str, node: Expr, variables: tuple[IndexVar, ...]) -> str:
        """Emits the steps of a temporary; returns its name, which is another where zeros are not left out."""
        listed = self._listed(node, variables)
        if listed is not None or (len(variables) > 1 and self._covered(node, variables)):
            return self.sparse(name, variables, node, listed)
        return self._array(name, node, variables)

    def _part(self, name: str, node: Expr, variables: tuple[IndexVar, ...]) -> str:
        """Emits the steps of a part of a rewritten statement; returns its name."""
        if is_about_entries(node):
            return self.structural.part(name, variables, node)
        return self._compute(name, node, variables)

    def _listed(self, node: Expr, variables: tuple[IndexVar, ...]) -> Encoding | None:
        """Returns the storage of a sum of tensors with compressed levels; None for other expressions."""
        sparse = self.values.sparse_names()
        if len(addends(node)) < 2 or not unites(node, sparse):
            return None
        read = [access for access in accesses_of(node) if access.tensor in sparse]
        found = [self.values.encoding_of(access.tensor) for access in read if access.subscripts == variables]
        listed = len(found) == len(read) and all(map(inserts_without_dense_levels, found))
        return self.values.widened(found[0].with_widths(0, 0)) if listed else None

    def _covered(self, node: Expr, variables: tuple[IndexVar, ...]) -> bool:
        sparse = self.values.sparse_names()
        return set(variables) <= stored_indices(node, sparse) and vanishes(node, sparse)

    def _inserts(self, terms: tuple[Term, ...], variables: tuple[IndexVar, ...]) -> bool:
        sparse = self.values.sparse_names()
        return all(
            term.op is ReduceOp.SUM
            and vanishes(term.body, sparse)
            and set(free_indices(term.body)) == set(variables) | set(term.indices)
            # A sparse result takes its shape from axes of operands; `x(i + k)` has no axis of the extent of i.
            and {s for a in accesses_of(term.body) for s in a.subscripts}.issuperset(variables)
            for term in terms
        )

    def _skips(self, body: Expr, variables: tuple[IndexVar, ...]) -> bool:
        """Returns whether loops over sparse operands skip elements of the result."""
        sparse = self.values.sparse_names()
        return not stored_indices(body, sparse).isdisjoint(variables) and vanishes(body, sparse)

    def _reads_sparse(self, node: Expr) -> bool:
        return any(self.values.type_of(access.tensor).encoding is not None for access in accesses_of(node))
