"""Statements as rules take them: sums of products of numbers, or other sums and products with the same laws."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Assignment, Binary, BinaryOp, Call, Expr, Literal, Reduce, ReduceOp, walk
from mlir_sparse.notation.entry_functions import is_about_entries
from mlir_sparse.notation.scalar_functions import FUNCTIONS
from mlir_sparse.plan.algebra.products_as_numbers import CountedTruth, ReducedValues, SemiringProducts
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import KernelSpec, Rewriting
from mlir_sparse.spec.computed_type import gives_truth, operand_dtype, result_dtype

__all__ = ["RuledStatement", "keeps_entries", "ruled_statement"]


def keeps_entries(rewriting: Rewriting, spec: KernelSpec) -> bool:
    """Returns whether a sparse result has the entries that the statement as written gives it.

    Under a semiring a product has an entry where all factors have one, and parts that are arrays have them everywhere.

    Args:
        rewriting: a way to compute it.
        spec: the statement.
    """
    if not is_about_entries(spec.explicit.value) or spec.output.encoding is None:
        return True
    vectors = any(len(part.target.subscripts) < 2 for part in rewriting.parts)
    return not vectors and all(is_sparse(kind) for _, kind in spec.inputs)


@dataclass(frozen=True, slots=True)
class TestedNumbers:
    """Sums of products of numbers, of which a statement asks whether they are zero: `y(i) or= A(i,j) * x(j) - 1`.

    Args:
        dtype: the element type of the numbers, which parts have in place of the truth values of the result.
    """

    dtype: DType

    def restored(self, rewriting: Rewriting) -> Rewriting:
        """Returns a way to compute the numbers, with their element type for its parts."""
        parts = tuple(replace(part, dtype=part.dtype or self.dtype) for part in rewriting.parts)
        return replace(rewriting, parts=parts)


@dataclass(frozen=True, slots=True)
class RuledStatement:
    """A statement as one of numbers, which rules are for.

    Args:
        assignment: the statement of numbers.
        kind: the sums and products that it stands for; None for those of numbers that are its result.
        is_exact: whether it computes in integers alone, which are a ring: they wrap, and nothing rounds.
    """

    assignment: Assignment
    kind: SemiringProducts | ReducedValues | CountedTruth | TestedNumbers | None
    is_exact: bool = False

    @property
    def of_numbers(self) -> bool:
        """Returns whether its sums and products are those of numbers, of truth values as ones and zeros too."""
        return self.kind is None or isinstance(self.kind, CountedTruth)

    def may_cancel(self, *, licensed: bool) -> bool:
        """Returns whether terms may cancel others, and differences and squares be multiplied out.

        Args:
            licensed: whether they may where numbers round.
        """
        return self.of_numbers and (self.is_exact or licensed)

    def restored(self, rewriting: Rewriting) -> Rewriting:
        """Returns a way to compute it as one for the statement that it stands for."""
        return rewriting if self.kind is None else self.kind.restored(rewriting)


def ruled_statement(spec: KernelSpec) -> RuledStatement | None:
    """Returns a statement as one of numbers; None where rules know nothing of its operations.

    Args:
        spec: the statement.
    """
    explicit, kinds = spec.explicit, [kind for _, kind in spec.inputs]
    if any(kind.dtype.is_storage for kind in (*kinds, spec.output)):  # it is one of other tensors, which are made first
        return None
    other = _other_kind(explicit, spec)
    if other is not None:
        return RuledStatement(replace(explicit, value=other[1]), other[0])
    if any(kind.dtype.is_truth for kind in kinds):
        if spec.output.dtype.is_truth:
            return None
        counted = CountedTruth(tuple(_dtypes(spec).items()), spec.output.dtype)
        numbers = replace(explicit, value=counted.as_numbers(explicit.value))
        return RuledStatement(numbers, counted, _computes_in_integers(explicit, spec))
    tested = spec.output.dtype.is_truth and not (gives_truth(explicit.value) or is_about_entries(explicit.value))
    if tested:
        return RuledStatement(explicit, TestedNumbers(operand_dtype((explicit.value,), _dtypes(spec))))
    return RuledStatement(explicit, None, _computes_in_integers(explicit, spec))


def _other_kind(explicit: Assignment, spec: KernelSpec) -> tuple[SemiringProducts | ReducedValues, Expr] | None:
    if isinstance(explicit.value, Reduce) and explicit.value.op is ReduceOp.SUM:
        return None  # of numbers, as most statements are
    kinds = [*(kind for _, kind in spec.inputs), spec.output]
    if spec.output.dtype.is_integer and spec.output.dtype != result_dtype(explicit.value, _dtypes(spec)):
        return None  # parts have the type of the result, in which numbers would wrap before they are compared
    reals = all(kind.dtype.is_real for kind in kinds)
    if is_about_entries(explicit.value):
        return SemiringProducts.of(explicit.value, explicit.target, reals=reals)
    arrays = all(kind.encoding is None for kind in kinds)
    return ReducedValues.of(explicit.value, reals=reals, arrays=arrays)


def _dtypes(spec: KernelSpec) -> dict[str, DType]:
    return {name: kind.dtype for name, kind in spec.inputs}


def _computes_in_integers(explicit: Assignment, spec: KernelSpec) -> bool:
    exact = spec.output.dtype.is_integer and all(kind.dtype.is_exact for _, kind in spec.inputs)
    return exact and not any(
        (isinstance(node, Literal) and not isinstance(node.value, int))
        or (isinstance(node, Binary) and node.op is BinaryOp.DIV)
        or (isinstance(node, Call) and not FUNCTIONS[node.function].keeps_integers)
        for node in walk(explicit.value)
    )
