"""The public function adjoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir_sparse.compile import DefinedTensor, parse
from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, OperandError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, Semiring, TensorVar
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.notation.adjoint import Adjoint, adjoint_of
from mlir_sparse.notation.adjoint.adjoint_of import statements_of
from mlir_sparse.runtime.device.device_operands import type_of_given
from mlir_sparse.spec import infer_output
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import several_of, text_of
from mlir_sparse.text.identifiers import by_name

__all__ = ["adjoint", "check_differentiable", "check_ring"]


def adjoint(
    text: str | Assignment | Comprehension | TensorVar,
    wrt: str | Sequence[str] | None = None,
    /,
    *,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    **named: Any,
) -> Adjoint:
    """Returns the derivative of index notation as index notation.

    The statements compute the cotangents of operands (`dA`, the gradient where the result is a loss's argument) from
    the operands and the cotangents of the results (`dY`), in reverse: sums become products, gathers become scatters.
    A cotangent of a sparse operand has the pattern of the operand, explicit zeros included: its statement ends in
    `if A(i,j)`. A subscript that is no plain variable is read by a selection, a tensor of ones that the adjoint has
    under `definitions`. Where a function has a kink, the subgradient is PyTorch's: the values that are the greatest
    share the cotangent of `max(j : ...)` equally, and the two of `max(a, b)` take half each. Cotangents of complex
    numbers are PyTorch's: the derivative of a loss by the real part plus 1j times that by the imaginary part.

    Args:
        text: index notation.
        wrt: the operand to differentiate by, or several. It may be given by name too, where it stands for no tensor:
            beside one by position, `wrt=` is a tensor of that name.
        tensors: data or types by name, for names that clash with these arguments.
        semiring: plus_times alone has derivatives.
        named: data or types of operands, as for `compile`; those that are not given are arrays of real numbers.

    Raises:
        OperandError: without an operand to differentiate by.
        UnknownTensorError: for a tensor that is no operand.
        UnsupportedError: for operations without a derivative; for an operand of which only the structure is read; for
            storage that is not in place (slices, tensors by definition, files).
        DTypeError: for operands of integers or truth values.

    >>> print(adjoint("Y(i,k) = A(i,j) * B(j,k)", ["A", "B"], A="f64[?,?] CSR"))
    dA(i,j) = dY(i,k) * B(j,k) if A(i,j)
    dB(j,k) = dY(i,k) * A(i,j)
    >>> print(adjoint("y(i) = X(I(i)) * w", "X"))
    dX(m) = at_X(i,m) * (dy(i) * w)
    with
      at_X(i,m) = 1 if I(i) == m
    """
    if wrt is None:
        wrt = named.pop("wrt", None)
    if wrt is None:
        raise OperandError('expected the operand to differentiate by, as in adjoint(text, "A"), but got none')
    given = by_name(named, tensors)
    operators = {name: value for name, value in given.items() if isinstance(value, (Operator, Monoid))}
    parsed = parse(text, **operators)
    check_ring(semiring)
    wanted = (wrt,) if isinstance(wrt, str) else tuple(several_of(wrt, "the names of operands"))
    declared = {name: value for name, value in given.items() if name not in operators}
    for name in declared:
        if name not in parsed.inputs:
            raise UnknownTensorError(
                f"expected an operand of the notation ({', '.join(parsed.inputs)}), but got {name}",
                source=parsed.source,
            )
    for name in wanted:
        check_differentiable(text_of(name, "the name of an operand"), declared.get(name))
    types = {name: type_of_given(name, value) for name, value in declared.items()}
    kinds = _kinds_of_all(parsed, types)
    return adjoint_of(
        parsed,
        wanted,
        sparse=[name for name, kind in kinds.items() if kind.encoding is not None],
        complexes=[name for name, kind in kinds.items() if kind.dtype.kind == "c"],
    )


def _kinds_of_all(parsed: Assignment | Comprehension, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
    """Returns the types of operands and of intermediate values; what is not given is an array of real numbers."""
    statements, outputs = statements_of(parsed)
    kinds = dict(types)
    for statement in statements:
        for access in statement.reads:
            kinds.setdefault(access.tensor, TensorType(REAL, (None,) * len(access.subscripts)))
        kinds[statement.target.tensor] = infer_output(statement, kinds)
    for made in outputs.values():
        if made not in types:
            kinds[made] = TensorType(kinds[made].dtype, kinds[made].shape)
    return kinds


def check_ring(semiring: str | Semiring | None) -> None:
    """Raises UnsupportedError for a semiring without derivatives."""
    if semiring is None:
        return
    ring = semiring_named(semiring)
    if ring != semiring_named("plus_times"):
        raise UnsupportedError(
            f"expected the sums and products of numbers, which have derivatives, but got the semiring {ring.name}: "
            "write it in notation, as in y(i) = min(j : A(i,j) + x(j)) of arrays, which selects the least values"
        )


def check_differentiable(name: str, value: Any) -> None:
    """Raises for an operand that nothing can be differentiated by.

    Raises:
        DTypeError: for integers and truth values.
        UnsupportedError: for storage that is not in place.
    """
    if value is None:
        return
    if isinstance(value, DefinedTensor) or type(value).__name__ in ("TensorSource", "LazyArray"):
        raise UnsupportedError(
            f"expected {name} to be stored in place to differentiate by it, but got a {type(value).__name__}, whose "
            "values stand elsewhere: differentiate by its operands, or pass ms.tensor of it"
        )
    if isinstance(value, SparseTensor) and value.storage.view:
        raise UnsupportedError(
            f"expected {name} to be stored in place to differentiate by it, but got a slice, which shows its parent's "
            "values: convert it first, as in A.convert('CSR')"
        )
    kind = type_of_given(name, value)
    if kind.dtype.kind not in "fc":
        raise DTypeError(
            f"expected {name} in floating point to differentiate by it, but got {kind.dtype}: "
            f"pass {name}.astype(numpy.float64)"
        )
