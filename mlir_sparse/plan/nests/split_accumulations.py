"""Expressions to sums of terms, each one accumulation: with temporaries for what cannot be one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from mlir_sparse.dtypes import INTEGER
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Reduce,
    ReduceOp,
    accesses_of,
    children,
    free_indices,
    operator,
    rebuild,
    walk,
)
from mlir_sparse.notation.entry_functions import COMBINING, is_about_entries, lifted
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.cost import nest_cost
from mlir_sparse.plan.nests.products_at_entries import entry_product, sparse_factors
from mlir_sparse.plan.order.loop_choice import NestToOrder
from mlir_sparse.plan.order.loop_order import least_cost
from mlir_sparse.plan.order.storage_choice import can_co_iterate
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.distribute import DISTRIBUTE
from mlir_sparse.plan.rewrite.factors_into_sums import FACTORS_INTO_SUMS
from mlir_sparse.plan.rewrite.flatten_sums import FLATTEN_SUMS
from mlir_sparse.plan.rewrite.merge_sums import MERGE_SUMS
from mlir_sparse.plan.rewrite.rewrite_rule import MADE_FIRST, WhyNot
from mlir_sparse.plan.rewrite.split_sums import SPLIT_SUMS
from mlir_sparse.plan.rewrite.sum_of_terms import (
    Signed,
    Term,
    addends,
    combine,
    has_reduction,
    is_elementwise,
    needs_distribution,
    unites,
)
from mlir_sparse.plan.rewrite.sums_as_folds import SUMS_AS_FOLDS
from mlir_sparse.plan.rewrite.truth_in_counts import TRUTH_IN_COUNTS
from mlir_sparse.spec import (
    depends_on,
    inner_dtypes,
    operand_dtype,
    promote,
    result_dtype,
    starts_anew,
    vanishes,
)

__all__ = ["Splitter"]

_ONE = operator(lambda entry: 1, name="one", dtype=INTEGER.name)


class Splitter:
    """Splits expressions of a program under construction.

    Args:
        values: the values so far.
        materialize: computes an expression into a temporary.
        position: computes an `argmax` or `argmin` into a temporary.
        entries: computes an expression about stored entries, into what arithmetic can read.
        fold: computes a fold of stored entries into an array.
    """

    def __init__(
        self,
        values: Values,
        materialize: Callable[[Expr], Access],
        position: Callable[[Reduce], Access],
        entries: Callable[[Expr], Expr],
        fold: Callable[[Fold], Access],
    ) -> None:
        self._values = values
        self._materialize = materialize
        self._position = position
        self._entries = entries
        self._fold = fold

    def terms(self, node: Expr, summed: bool = False) -> tuple[Term, ...]:
        """Returns an expression as a sum of terms, with temporaries for what cannot be one.

        Args:
            node: the expression.
            summed: whether the terms are those of one more sum, and may be multiplied out.
        """
        if self._vanishes_as_a_whole(node):
            return (Term(node),)
        return tuple(
            term.negated() if negative else term
            for expr, negative in addends(node, self._is_array, self._flattens)
            for term in self._addend(expr, summed)
        )

    def _is_array(self, node: Expr) -> bool:
        """Returns whether an expression in numbers that round is one of arrays, and takes part in sums as it is."""
        context = self._values.context()
        return context.rounds and is_elementwise(node) and not depends_on(node, context.sparse)

    def _flattens(self, node: Expr) -> bool:
        return self._values.applied(FLATTEN_SUMS, node) is not node

    def _vanishes_as_a_whole(self, node: Expr) -> bool:
        """Returns whether a sum has zeros to skip that its addends have not: `exp(A(i,j)) - 1`."""
        sparse = self._values.sparse_names()
        parts = addends(node)
        return (
            len(parts) > 1
            and not has_reduction(node)
            and not any(map(is_about_entries, walk(node)))  # made by steps of its own
            and vanishes(node, sparse)
            and not all(vanishes(part, sparse) for part, _ in parts)
        )

    def _addend(self, node: Expr, summed: bool) -> tuple[Term, ...]:
        node = self._values.applied(SUMS_AS_FOLDS, node)
        if isinstance(node, Fold) and not node.monoid.gives_zero:  # in arithmetic what has no entry is a number as well
            return (Term(self._fold(node)),)
        if is_about_entries(node):
            return (Term(self._entries(node)),)
        match node:
            case Reduce():
                return self._reduction(node)
            case Binary(BinaryOp.MUL | BinaryOp.DIV):
                return self._products(node, summed)
            case Call("where", (condition, then, otherwise)):
                anew = self._closed_anew(condition)
                return (Term(replace(node, arguments=(anew, self.closed(then), self.closed(otherwise)))),)
            case Binary(BinaryOp.ADD | BinaryOp.SUB) if depends_on(node, self._values.sparse_names()):
                return (Term(self._materialize(node)),)  # in parentheses, which say that it is made first
            case Binary() | Call() if starts_anew(node):
                return (Term(self._anew(node)),)
            case Call(function, arguments):
                return (Term(Call(function, tuple(self.closed(a) for a in arguments), node.span)),)
            case _:
                return (Term(node),)

    def _anew(self, node: Expr) -> Expr:
        """Returns a node with a type of its own without reductions; those in its operands have their type."""
        operands = children(node)
        if isinstance(node, Binary) and not node.op.compares:  # each operand of logic is true or not by itself
            return rebuild(node, tuple(self._closed_anew(operand) for operand in operands))
        closed = []
        for operand, dtype in zip(operands, inner_dtypes(node, self._values.dtypes()), strict=True):
            with self._values.computing(dtype):
                closed.append(self.closed(operand))
        return rebuild(node, tuple(closed))

    def _closed_anew(self, node: Expr) -> Expr:
        with self._values.computing(operand_dtype((node,), self._values.dtypes())):
            return self.closed(node)

    def _counting(self, node: Reduce) -> tuple[Term, ...]:
        """Returns a reduction of whether values are zero, in a temporary unless its type is the one computed in."""
        if node.op.finds:
            with self._values.computing(operand_dtype((node.body,), self._values.dtypes())):
                return (Term(self._position(node)),)
        own = result_dtype(node, self._values.dtypes())
        if own != self._values.dtype:
            with self._values.computing(own):
                return (Term(self._materialize(node)),)
        counted = replace(node, body=self._closed_anew(node.body))
        found = self._values.applied(TRUTH_IN_COUNTS, counted)
        assert isinstance(found, Reduce)
        if node.op is ReduceOp.AND:
            terms = self._over_entries(ReduceOp.AND, found.indices, found.body)
            if terms is not None:
                return terms
        return (Term(found.body, found.op, found.indices),)

    def _reduction(self, node: Reduce) -> tuple[Term, ...]:
        """Returns a reduction as terms; a sum goes into the addends that use all its variables."""
        if starts_anew(node):
            return self._counting(node)
        if node.op is ReduceOp.SUM and self._sums_in_one_loop(node.body):
            return (Term(self._united(node.body), ReduceOp.SUM, node.indices),)
        inner = self.terms(node.body, summed=node.op is ReduceOp.SUM)
        sums = self._apart(node, inner)
        if sums is not None:
            return sums
        body = combine([Term(self.closed_term(term), negative=term.negative) for term in inner])
        return self._over_entries(node.op, node.indices, body) or (Term(body, node.op, node.indices),)

    def _apart(self, node: Reduce, inner: tuple[Term, ...]) -> tuple[Term, ...] | None:
        """Returns a sum of terms as a sum of each; None where that is none, or one takes loops of its own."""
        context = self._values.context()
        parts = tuple((term.value, term.negative) for term in inner)
        split = SPLIT_SUMS.apply(node, replace(context, terms=lambda _: parts))
        if isinstance(split, WhyNot):
            return None
        sums = [(self._values.applied(MERGE_SUMS, one), negative) for one, negative in addends(split)]
        terms = tuple(
            Term(one.body, one.op, one.indices, negative)
            for one, negative in sums
            if isinstance(one, Reduce) and not isinstance(one.body, Reduce)
        )
        if len(terms) < len(sums):
            return None
        if len(inner) > 1:
            one_each = ", ".join(f"`{term.signed}`" for term in inner)
            self._values.rewritten(SPLIT_SUMS, f"`{node.body}` is one sum each of {one_each}")
        return terms

    def _sums_in_one_loop(self, body: Expr) -> bool:
        """Returns whether what is summed is itself a sum that loops over sparse operands make element by element.

        The sums of its terms may be too large where the sum of their differences is not.
        """
        sparse = self._values.sparse_names()
        if self._values.dtype.is_integer or len(addends(body)) < 2 or has_reduction(body):
            return False
        read = [access for access in accesses_of(body) if access.tensor in sparse]
        plain = all(isinstance(s, IndexVar) for access in read for s in access.subscripts)
        shared = plain and all(can_co_iterate(self._values.encoding_of(access.tensor)) for access in read)
        return shared and unites(body, sparse) and not any(map(is_about_entries, walk(body)))

    def _united(self, body: Expr) -> Expr:
        """Returns a sum of sparse operands as loops take it: of more than two by way of a temporary."""
        sparse = self._values.sparse_names()
        patterns = {
            frozenset(access for access in accesses_of(part) if access.tensor in sparse) for part, _ in addends(body)
        }
        return self.closed(body) if len(patterns) <= 2 else self._materialize(body)

    def _over_entries(self, op: ReduceOp, indices: tuple[IndexVar, ...], body: Expr) -> tuple[Term, ...] | None:
        """Returns a reduction that must see zeros as one of stored entries, and then of a zero where some are missing.

        None for one over dense operands, or over sparse ones by sums of variables, which are read densely:
        it sees every element as it is.
        """
        sparse = self._values.sparse_names()
        if op is ReduceOp.SUM or not vanishes(body, sparse) or not depends_on(body, sparse):
            return None
        subscripts = [s for access in accesses_of(body) if access.tensor in sparse for s in access.subscripts]
        if not all(isinstance(subscript, IndexVar) for subscript in subscripts):
            return None
        if not isinstance(body, Access):
            found = self._in_place(op, indices, body)
            if found is not None:
                return found
        access = body if isinstance(body, Access) else self._materialize(body)
        if access.tensor not in self._values.sparse_names() or not set(indices) <= set(access.indices):
            return (Term(access, op, indices),)
        return (self._with_zeros(op, indices, access, access),)

    def _in_place(self, op: ReduceOp, indices: tuple[IndexVar, ...], body: Expr) -> tuple[Term, ...] | None:
        """Returns a reduction of a product as loops come to its entries; None where it needs a temporary."""
        match body:
            case Binary(BinaryOp.NE, left, Literal(value=0)) if op is ReduceOp.AND:
                body = left  # what is combined is whether values are zero anyway
        product = entry_product(body, self._values.sparse_names(), self._made_wide)
        if product is None:
            return None
        where = sparse_factors(product, self._values.sparse_names())
        if set(indices).isdisjoint(free_indices(where)):
            return None
        return (self._with_zeros(op, indices, product, where),)

    def _made_wide(self, node: Expr) -> Access:
        """Computes a factor into a temporary of numbers, where whether they are zero is all that is asked, as well."""
        own = operand_dtype((node,), self._values.dtypes())
        with self._values.computing(promote(own, self._values.dtype)):
            return self._materialize(node)

    def _with_zeros(self, op: ReduceOp, indices: tuple[IndexVar, ...], entries: Expr, where: Expr) -> Term:
        """Returns a reduction of entries, and of a zero where some are missing.

        Args:
            op: the operator.
            indices: what is reduced.
            entries: what has a value at each entry.
            where: what has the same entries; it need not have all the variables.
        """
        found = self._fold(Fold(COMBINING[op], indices, lifted(entries, COMBINING[op])))
        own = tuple(index for index in indices if index in free_indices(where))
        stored = self._fold(Fold(MONOIDS["plus"], own, Apply(_ONE, (where,))))
        missing = Binary(BinaryOp.LT, stored, self._extent(own))
        with_zero = Call(op.value, (found, Literal(0))) if op in (ReduceOp.MAX, ReduceOp.MIN) else Literal(0)
        return Term(Call("where", (missing, with_zero, found)))

    def _extent(self, indices: tuple[IndexVar, ...]) -> Expr:
        """Returns how many values some variables take together, counted when it runs."""
        counts: list[Expr] = []
        with self._values.computing(INTEGER):
            counts += [self._materialize(Reduce(ReduceOp.SUM, (index,), Literal(1))) for index in indices]
        return reduce(lambda left, right: Binary(BinaryOp.MUL, left, right), counts)

    def _products(self, node: Binary, summed: bool) -> tuple[Term, ...]:
        """Returns a product or quotient as terms: several where a factor is a sum that must be multiplied out."""

        def terms(factor: Expr) -> tuple[Signed, ...]:
            if needs_distribution(factor, context.sparse):
                return tuple((term.value, term.negative) for term in self.terms(factor, summed))
            return ((self.closed(factor), False),)

        context = replace(self._values.context(), summed=summed, terms=terms, closed=self.closed)
        found = DISTRIBUTE.apply(node, context)
        if isinstance(found, WhyNot):
            return (Term(rebuild(node, (self._made_first(node.left), self._made_first(node.right)))),)
        products = tuple(self._product(product, negative) for product, negative in addends(found))
        if len(products) > 1:
            self._values.rewritten(DISTRIBUTE, f"`{node}` is `{combine(products)}`")
        return products

    def _made_first(self, node: Expr) -> Expr:
        """Returns a factor as it is, or the sum that it is as a temporary."""
        if not needs_distribution(node, self._values.sparse_names()):
            return self.closed(node)
        return self._temporary(node, MADE_FIRST)

    def _product(self, node: Expr, negative: bool) -> Term:
        """Returns a product of which factors are sums as one sum, or with temporaries for them."""
        found = FACTORS_INTO_SUMS.apply(node, self._values.context())
        why = found.reason if isinstance(found, WhyNot) else self._why_dearer(children(node))
        if isinstance(found, Reduce) and not why:
            over = ", ".join(map(str, found.indices))
            self._values.rewritten(FACTORS_INTO_SUMS, f"the sum over {over} is one of `{found.body}`")
            return Term(found.body, found.op, found.indices, negative)
        factors = tuple(
            self._temporary(factor, why) if isinstance(factor, Reduce) else factor for factor in children(node)
        )
        return Term(rebuild(node, factors), negative=negative)

    def _why_dearer(self, factors: tuple[Expr, ...]) -> str:
        """Returns why to sum before multiplying; "" where multiplying inside the sum is no more work."""
        ((reduced, plain),) = ((a, b) for a, b in itertools.permutations(factors) if isinstance(a, Reduce))
        body = Binary(BinaryOp.MUL, reduced.body, plain)
        together = self._cheapest(body)
        outer = tuple(v for v in free_indices(body) if v not in reduced.indices)
        apart = self._cheapest(reduced.body) + nest_cost(outer, plain, self._values.mapping())
        if together <= 1.5 * apart:
            return ""
        return f"summed first, at {apart:,.0f} by estimate; inside the other loops it would be {together:,.0f}"

    def _cheapest(self, body: Expr) -> float:
        types = dict(self._values.mapping())
        for access in accesses_of(body):
            if not all(isinstance(subscript, IndexVar) for subscript in access.subscripts):
                # Loops read it as an array, or its elements picked.
                types[access.tensor] = replace(types[access.tensor], encoding=None)
        return least_cost(NestToOrder(free_indices(body), (), body, None, False), types)

    def closed(self, node: Expr) -> Expr:
        """Returns an expression without reductions: those in it become temporaries."""
        terms = self.terms(node)
        if all(not term.indices for term in terms):
            return combine(terms)
        return combine([Term(self.closed_term(term), negative=term.negative) for term in terms])

    def closed_terms(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Returns terms that are sums: others are made first."""
        return tuple(
            term if term.op is ReduceOp.SUM else Term(self.closed_term(term), negative=term.negative) for term in terms
        )

    def closed_term(
        self, term: Term, why: str = "a linalg.generic takes one accumulation, and this is another"
    ) -> Expr:
        """Returns a term as an expression without reductions."""
        return self._temporary(term.value, why) if term.indices else term.body

    def _temporary(self, node: Expr, why: str) -> Access:
        found = self._materialize(node)
        self._values.note(found.tensor, why)
        return found
