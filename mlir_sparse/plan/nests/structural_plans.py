"""Plans for operators on stored entries, folds by a monoid, masks and selections.

A dense result starts from the identity, and entries are combined into it; a sparse one has
them inserted. A node that joins an operand with entries everywhere into what has
results everywhere is computed everywhere first, and once more where the sparse operands have entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import (
    SELECT,
    Access,
    Apply,
    Call,
    Expr,
    Extreme,
    Fold,
    IndexVar,
    Literal,
    Monoid,
    Operator,
    ReduceOp,
    accesses_of,
    free_indices,
    walk,
)
from mlir_sparse.notation.entry_functions import lifted
from mlir_sparse.notation.operator import Number
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.nests.sampled_results import compute_at_entries, find_sampled
from mlir_sparse.plan.nests.structural_payloads import StructuralPayloads, without
from mlir_sparse.plan.order.loop_choice import LoopChoice, NestToOrder
from mlir_sparse.plan.order.loop_order import choose_loops
from mlir_sparse.plan.order.storage_choice import has_limited_capacity, stores_padding
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.sum_of_terms import stored_indices
from mlir_sparse.spec import entry_dtype, extreme_or

__all__ = ["StructuralPlanner"]

_LATER = MONOIDS["any"]  # of two values the later: what overwrites


def _with_rest(node: Expr, rest: Expr) -> Expr:
    """Returns what a mask leaves of something else."""
    if isinstance(node, Fold):
        return replace(node, body=_with_rest(node.body, rest))
    assert isinstance(node, Apply)
    return replace(node, arguments=(node.arguments[0], rest))


def _starts_anew(monoid: Monoid | None) -> bool:
    """Returns whether loops reduce by `sparse_tensor.reduce`, which innermost takes nothing over from loops before."""
    return monoid is not None and monoid != MONOIDS["plus"]


def _chosen(body: Expr, monoid: Monoid | None, dtype: DType) -> Expr:
    """Returns a selection for a dense result: where the condition fails, what leaves the result as it is."""
    if not (isinstance(body, Apply) and body.operator == SELECT):
        return body
    identity = extreme_or(0 if monoid is None or monoid is _LATER else monoid.identity, dtype)
    value, condition = (Access(name) for name in SELECT.parameters)
    return replace(body, operator=replace(SELECT, overlap=Call("where", (condition, value, Literal(identity)))))


class StructuralPlanner:
    """Emits the steps of expressions about stored entries.

    Args:
        values: the program under construction.
        regular: computes an expression that is not about entries into a dense temporary.
        loops_only: whether to use loop nests only, as for a GPU.
    """

    def __init__(self, values: Values, regular: Callable[[Expr], Access], *, loops_only: bool) -> None:
        self._values = values
        self._loops_only = loops_only
        self._bodies = StructuralPayloads(values, regular, self.value, self._everywhere)

    # -- results -------------------------------------------------------------------------------------------------

    def dense(self, result: str, variables: tuple[IndexVar, ...], node: Expr) -> None:
        """Emits the steps that leave an expression in a dense value; the identity of a fold, else 0, elsewhere."""
        target = Access(result, variables)
        mask, node = without(self._bodies.prepared(node))
        if isinstance(node, Fold):
            self._accumulated(target, node)
        else:
            self._loops(target, (), self._bodies.payload(node), _LATER, AccumulateMode.START)
        if mask is not None:
            self._erase(target, mask, node.monoid.identity if isinstance(node, Fold) else 0)

    def _accumulated(self, target: Access, node: Fold) -> None:
        """Emits a loop nest for each term of a fold, those first that read every element."""
        mode = AccumulateMode.START
        for indices, body in sorted(self._terms(node.monoid, node), key=lambda term: self._bodies.is_partial(term[1])):
            payload = body if without(body)[0] is None else self._holed(node.monoid, body)
            self._loops(target, indices, self._bodies.payload(payload), node.monoid, mode)
            mode = AccumulateMode.CONTINUE

    def _holed(self, monoid: Monoid, node: Expr) -> Access:
        """Computes what a mask leaves into a dense temporary, the identity where it leaves nothing."""
        target = Access(self._values.fresh(), free_indices(node))
        self._declare(target, None, self._dtype(node))
        self.dense(target.tensor, free_indices(node), Fold(monoid, (), node))
        return target

    def _erase(self, target: Access, mask: Expr, missing: Number | Extreme) -> None:
        """Emits the loops that leave no entry where a mask has one."""
        dtype = self._values.type_of(target.tensor).dtype
        nothing = Operator("missing", ("m",), Literal(extreme_or(missing, dtype)), dtype=dtype.name)
        self._loops(target, (), Apply(nothing, (self._bodies.payload(mask),)), _LATER, AccumulateMode.CONTINUE)

    def sparse(self, result: str, variables: tuple[IndexVar, ...], node: Expr, encoding: Encoding | None) -> str:
        """Emits the steps that leave an expression in a sparse value; returns its name."""
        node = self._bodies.prepared(node)
        mask, left = without(node)
        if mask is not None:
            node = _with_rest(
                node, self._bodies.payload(left.body if isinstance(left, Fold) and not left.indices else left)
            )
        fold = node if isinstance(node, Fold) else None
        self._check_storage(node, encoding)
        monoid, indices, body = (fold.monoid, fold.indices, fold.body) if fold else (None, (), node)
        if mask is not None and not self._bodies.is_partial(without(node)[1]):
            return self._by_way_of_dense(result, variables, node, encoding)
        body = self._bodies.payload(body)
        if indices and ((isinstance(body, Apply) and body.operator == SELECT) or self._bodies.is_ragged(body)):
            # What is selected while it is reduced would be inserted where nothing is. An array has zeros there.
            selected = self.value(body) if self._bodies.is_partial(body) else None
            if selected is None or self._values.type_of(selected.tensor).encoding is None:
                return self._by_way_of_dense(result, variables, node, encoding)
            body = selected
        if not self._inserts(body, variables):
            return self._by_way_of_dense(
                result, variables, node if fold is None else replace(fold, body=body), encoding
            )
        choice = self._choice(NestToOrder(variables, indices, body, encoding, True, _starts_anew(monoid)))
        body = self._values.converted(body, choice)
        assert choice.storage is not None
        storage = self._values.widened(choice.storage)
        sampled = None if self._loops_only or indices else self._sampled(variables, body, (storage, encoding))
        if sampled is not None:
            storage = self._values.encoding_of(sampled.tensor)
        direct = encoding is None or storage == encoding
        target = Access(result if direct else self._values.fresh(result, "natural"), variables)
        self._declare(target, storage, self._declared_dtype(result, node))
        mode = AccumulateMode.START if indices else AccumulateMode.REPLACE
        reason = "inserts entries in the order of the loops"
        combine = ReduceOp.SUM if monoid is None else monoid
        nested = Generic(target, mode, combine, choice.order, indices, body, True, reason)
        nested = replace(nested, order_reason=choice.order_reason)
        if sampled is None:
            self._values.emit(nested)
        else:
            compute_at_entries(target.tensor, nested, sampled, self._values)
        if direct:
            return result
        assert encoding is not None
        kind = self._typed(encoding, variables, self._declared_dtype(result, node))
        reason = "the loops cannot insert in the order asked for"
        self._values.conversion(result, target.tensor, kind, has_limited_capacity(encoding), reason)
        return result

    def _sampled(
        self, variables: tuple[IndexVar, ...], body: Expr, storages: tuple[Encoding | None, ...]
    ) -> Access | None:
        """Returns the operand whose entries the result has; None where there is none, or some are chosen."""
        if any(isinstance(node, Apply) and node.operator == SELECT for node in walk(body)):
            return None
        given = [storage for storage in storages if storage is not None]
        return find_sampled(variables, body, given, self._values.mapping())

    def value(self, node: Expr) -> Access:
        """Computes an expression into a temporary: sparse where it is partial and loops can insert it."""
        node = self._bodies.prepared(node)
        variables = free_indices(node)
        name = self._values.fresh()
        target = Access(name, variables)
        self._declare(target, None, self._dtype(node))  # so that temporaries of its own get other names
        if variables and self._bodies.is_partial(node):
            return Access(self.sparse(name, variables, node, None), variables)
        self.dense(name, variables, node)
        return target

    def part(self, name: str, variables: tuple[IndexVar, ...], node: Expr) -> str:
        """Computes a part of a statement: sparse as in `value`, but for vectors, whose elements loops look up."""
        node = self._bodies.prepared(node)
        self._declare(Access(name, variables), None, self._dtype(node))
        if len(variables) > 1 and self._bodies.is_partial(node):
            return self.sparse(name, variables, node, None)
        self.dense(name, variables, node)
        return name

    def _by_way_of_dense(
        self, result: str, variables: tuple[IndexVar, ...], node: Expr, encoding: Encoding | None
    ) -> str:
        dense = result if encoding is None else self._values.fresh(result, "dense")
        dtype = self._declared_dtype(result, node)
        self._declare(Access(dense, variables), None, dtype)
        self.dense(dense, variables, node)
        if encoding is None:
            return dense
        missing = extreme_or(node.monoid.identity if isinstance(node, Fold) else 0, dtype)
        kind = self._typed(encoding, variables, dtype)
        reason = "the expression has entries where its operands have none"
        self._values.conversion(result, dense, kind, True, reason, missing)
        return result

    def _terms(self, monoid: Monoid, node: Expr) -> list[tuple[tuple[IndexVar, ...], Expr]]:
        """Returns what a fold combines as terms, each with the variables that it is folded over by itself."""
        match node:
            case Fold(known, indices, body) if known == monoid:
                inner = self._terms(monoid, body)
                apart = len(inner) > 1 and all(set(indices) <= set(free_indices(part)) for _, part in inner)
                if len(inner) == 1 or apart:
                    return [((*indices, *more), part) for more, part in inner]
                return [(indices, body)]
            case Apply(operator, (left, right)) if operator == monoid.union and not self._bodies.is_partial(node):
                return self._terms(monoid, lifted(left, monoid)) + self._terms(monoid, lifted(right, monoid))
            case _:
                return [((), node)]

    def _everywhere(self, node: Apply, total: Expr | None) -> Access:
        """Computes an operator that has a result everywhere: first where no sparse operand is, then where it is."""
        operator, variables = node.operator, free_indices(node)
        target = Access(self._values.fresh(), variables)
        self._declare(target, None, self._dtype(node))
        if total is None:
            assert operator.absent is not None
            base: Expr = operator.absent
        else:
            region = operator.left if node.arguments[0] is total else operator.right
            parameter = operator.parameters[0 if node.arguments[0] is total else 1]
            base = Apply(Operator(operator.name, (parameter,), region), (total,))
        self._loops(target, (), base, None, AccumulateMode.REPLACE)
        self._loops(target, (), self._bodies.overlapping(node), _LATER, AccumulateMode.CONTINUE)
        return target

    # -- loops ---------------------------------------------------------------------------------------------------

    def _loops(
        self, target: Access, indices: tuple[IndexVar, ...], body: Expr, monoid: Monoid | None, mode: AccumulateMode
    ) -> None:
        """Emits one loop nest into a dense value."""
        if self._bodies.is_ragged(body):
            body = self.value(body)  # the sparsifier inserts such entries, but accumulates none
        body = _chosen(body, monoid, self._values.type_of(target.tensor).dtype)
        variables = tuple(s for s in target.subscripts if isinstance(s, IndexVar))
        choice = self._choice(NestToOrder(variables, indices, body, None, False, _starts_anew(monoid)))
        if mode is AccumulateMode.CONTINUE and indices and choice.order[-1] in indices and monoid != MONOIDS["plus"]:
            body, indices = self._apart(target, indices, body, monoid), ()
            choice = self._choice(NestToOrder(variables, (), body, None, False))
        body = self._values.converted(body, choice)
        if mode is AccumulateMode.START and not indices and not self._bodies.is_partial(body):
            mode = AccumulateMode.REPLACE
        reason = {
            AccumulateMode.REPLACE: "every entry once",
            AccumulateMode.START: "entries, and the identity elsewhere",
            AccumulateMode.CONTINUE: "overwrites where there are entries"
            if monoid is _LATER
            else "combines entries in place",
        }[mode]
        combine = ReduceOp.SUM if monoid is None else monoid
        nested = Generic(target, mode, combine, choice.order, indices, body, True, reason)
        self._values.emit(replace(nested, order_reason=choice.order_reason))

    def _apart(self, target: Access, indices: tuple[IndexVar, ...], body: Expr, monoid: Monoid | None) -> Access:
        """Computes a reduction apart from what it is combined with.

        Where the reduction is the innermost loop, `sparse_tensor.reduce` starts it from the identity and
        stores its result over what the array held.
        """
        apart = Access(self._values.fresh(), target.subscripts)
        self._declare(apart, None, self._values.type_of(target.tensor).dtype)
        self._loops(apart, indices, body, monoid, AccumulateMode.START)
        return apart

    def _choice(self, nest: NestToOrder) -> LoopChoice:
        choice = choose_loops(nest, self._values.mapping(), self._values.order)
        assert choice is not None, "the order of the result's variables first can always insert"
        return choice

    # -- questions -----------------------------------------------------------------------------------------------

    def _inserts(self, body: Expr, variables: tuple[IndexVar, ...]) -> bool:
        """Returns whether loops over sparse operands can insert a body: they leave out entries, and know all sizes."""
        met = stored_indices(body, self._values.sparse_names())
        sized = {subscript for access in accesses_of(body) for subscript in access.subscripts}
        return self._bodies.is_partial(body) and not met.isdisjoint(variables) and sized.issuperset(variables)

    def _check_storage(self, node: Expr, encoding: Encoding | None) -> None:
        identity = node.monoid.identity if isinstance(node, Fold) else 0
        if encoding is not None and identity != 0 and stores_padding(encoding):
            raise UnsupportedError(
                f"expected storage of entries one by one for a result whose missing entries are not 0, but got "
                f"{encoding.map_text()}, which pads with zeros: ask for CSR or dense with out="
            )

    def _dtype(self, node: Expr) -> DType:
        """Returns the element type of a temporary: that of the statement, but where a node has one of its own."""
        return self._values.computed(entry_dtype(node, self._values.dtype, self._values.dtypes()))

    def _declared_dtype(self, name: str, node: Expr) -> DType:
        known = self._values.mapping().get(name)
        return self._dtype(node) if known is None else known.dtype

    def _declare(self, target: Access, encoding: Encoding | None, dtype: DType) -> None:
        variables = tuple(s for s in target.subscripts if isinstance(s, IndexVar))
        self._values.declare(target.tensor, self._typed(encoding, variables, dtype))

    def _typed(self, encoding: Encoding | None, variables: tuple[IndexVar, ...], dtype: DType) -> TensorType:
        return replace(self._values.typed(encoding, variables), dtype=dtype)
