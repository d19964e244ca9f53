"""The adjoint of an assignment or of a comprehension, and of a program that is one already."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlir_sparse.errors import UnknownTensorError, UnsupportedError
from mlir_sparse.notation.adjoint.adjoint_steps import adjoint_of_steps
from mlir_sparse.notation.adjoint.adjoint_values import Adjoint
from mlir_sparse.notation.adjoint.single_assignments import one_name_each
from mlir_sparse.notation.affine_targets import refuse_affine_targets
from mlir_sparse.notation.ast import Assignment
from mlir_sparse.notation.comprehension import Comprehension

__all__ = ["adjoint_of", "statements_of"]


def statements_of(given: Assignment | Comprehension) -> tuple[tuple[Assignment, ...], dict[str, str]]:
    """Returns statements that each assign a tensor of their own by `=`, and by output the name of its last value."""
    refuse_affine_targets(given, "derivatives")
    statements = given.statements if isinstance(given, Comprehension) else (given,)
    outputs = given.results if isinstance(given, Comprehension) else (given.target.tensor,)
    taken = {name for one in statements for name in (one.target.tensor, *one.inputs, *(v.name for v in one.indices))}
    return one_name_each(statements, outputs, taken)


def adjoint_of(
    given: Assignment | Comprehension,
    wanted: Sequence[str],
    *,
    sparse: Collection[str] = (),
    complexes: Collection[str] = (),
) -> Adjoint:
    """Returns the statements that compute the cotangents of operands from those of the results.

    Args:
        given: what is differentiated.
        wanted: the operands.
        sparse: the tensors that store some of their elements only; their cotangents have the same pattern.
        complexes: the tensors of complex numbers, for which the cotangents are those of PyTorch and JAX's conjugate.

    Raises:
        UnknownTensorError: for a wanted tensor that is no operand.
        UnsupportedError: for operations that have no derivative; for operands of which only the structure is read, or
            that the results are constant in nearly everywhere.

    >>> from mlir_sparse.notation import parse
    >>> print(adjoint_of(parse("Y(i,k) = A(i,j) * B(j,k)"), ("A", "B"), sparse=("A",)))
    dA(i,j) = dY(i,k) * B(j,k) if A(i,j)
    dB(j,k) = dY(i,k) * A(i,j)
    """
    statements, outputs = statements_of(given)
    for name in wanted:
        if name not in given.inputs:
            raise UnknownTensorError(
                f"expected an operand of `{_shown(given)}` to differentiate by ({', '.join(given.inputs)}), "
                f"but got {name}",
                source=given.source,
            )
    found = adjoint_of_steps(statements, outputs, wanted, sparse=sparse, complexes=complexes)
    for name in wanted:
        if name not in found.results:
            why = found.reasons.get(name) or ("its structure alone is read",)
            raise UnsupportedError(
                f"expected a result that has a derivative by {name}, but got `{_shown(given)}`: {'; '.join(why)}",
                source=given.source,
            )
    return found


def _shown(given: Assignment | Comprehension) -> str:
    return given.name if isinstance(given, Comprehension) else str(given)
