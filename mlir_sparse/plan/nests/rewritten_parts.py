"""The parts of a rewritten statement: temporaries that are made before what reads them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, accesses_of, replace_accesses
from mlir_sparse.plan.nests.products_of_arrays import array_product
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.sum_of_terms import Term, addends
from mlir_sparse.spec import Part, Rewriting

__all__ = ["RewrittenParts"]


class RewrittenParts:
    """The parts made so far.

    Args:
        values: the values so far.
        picked: emits the steps that pick what loops cannot read, and returns an expression that reads these.
        compute: emits the steps of a temporary with a name, and returns the name of the value that holds it.
        everywhere: emits those of an array with a name.
        onto: emits those that add an expression to an array with a name.
        rewriting: how the statement is rewritten; None for one that is not.
        calls: whether steps may call libraries, which take arrays in the memory of the processor.
    """

    def __init__(
        self,
        values: Values,
        picked: Callable[[Expr], Expr],
        compute: Callable[[str, Expr, tuple[IndexVar, ...]], str],
        everywhere: Callable[[str, Expr, tuple[IndexVar, ...]], str],
        onto: Callable[[str, Expr, tuple[IndexVar, ...]], None],
        rewriting: Rewriting | None,
        *,
        calls: bool,
    ) -> None:
        self._values = values
        self._picked = picked
        self._compute = compute
        self._everywhere = everywhere
        self._onto = onto
        self._parts = rewriting.parts if rewriting else ()
        self._by_blas = rewriting is not None and rewriting.by_blas
        self._calls = calls
        self._names: dict[str, str] = {}

    def make(self) -> None:
        """Emits the steps of all parts."""
        for part in self._parts:
            self._make(part)

    def _make(self, part: Part) -> None:
        name, value, variables = part.target.tensor, self._picked(self.read(part.value)), part.target.indices
        self._values.note(name, "made first, by the rewritten statement")
        with self._values.computing(part.dtype or self._values.dtype):
            if part.by_blas and self._accumulated(part.target, value, self._values.typed(None, variables)):
                self._names[name] = name
            elif part.is_array:
                self._names[name] = self._everywhere(name, value, variables)
            else:
                self._values.preferred = part.order
                self._names[name] = self._compute(name, value, variables)
                self._values.preferred = None

    def read(self, node: Expr) -> Expr:
        """Returns an expression that reads parts by the names of the values that hold them."""
        reads = [access for access in accesses_of(node) if access.tensor in self._names]
        return replace_accesses(node, {access: self._names[access.tensor] for access in reads}) if reads else node

    def whole(self, target: Access, value: Expr) -> bool:
        """Emits the step that computes the statement by BLAS into an array; returns whether there is one."""
        return self._by_blas and self._multiplied(target, value, self._values.output)

    def first(self, value: Expr, variables: tuple[IndexVar, ...]) -> Expr:
        """Returns what reads the statement's value after BLAS computed it, for sparse results; others as they are."""
        product = Access(self._values.fresh(), variables) if self._by_blas else None
        made = product is not None and self._multiplied(product, value, self._values.typed(None, variables))
        return product if product is not None and made else value

    def _accumulated(self, target: Access, value: Expr, kind: TensorType) -> bool:
        """Emits the step of a product by BLAS, and those that add the other terms of a sum; returns whether it did."""
        terms = addends(value)
        for place, (term, negative) in enumerate(terms):
            if not negative and self._multiplied(target, term, kind):
                rest = [Term(other, negative=sign).signed for other, sign in (*terms[:place], *terms[place + 1 :])]
                if rest:
                    added = reduce(lambda left, right: Binary(BinaryOp.ADD, left, right), rest)
                    self._onto(target.tensor, added, target.indices)
                return True
        return False

    def _multiplied(self, target: Access, value: Expr, kind: TensorType) -> bool:
        types = {**self._values.mapping(), target.tensor: kind}
        reason = "BLAS multiplies arrays faster than loops"
        product = array_product(target, value, types, reason) if self._calls else None
        if product is not None:
            self._values.declare(target.tensor, kind)
            self._values.emit(product)
        return product is not None
