"""Products summed over shared indices, which einsum, matmul, dot and sums are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value, diagonal_of, squeezed
from mlir_sparse.arrays.compact_products import compacted, wide_labels
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.operator_kernels import access, assignment, computed
from mlir_sparse.compile.entry_points import evaluate
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import DTypeError, ExtentError
from mlir_sparse.notation import Assignment, AssignOp, Binary, BinaryOp, Expr
from mlir_sparse.spec import promote
from mlir_sparse.tensor import SparseTensor

__all__ = ["cast", "common_type", "contracted", "extents_of", "prepared", "product"]


def extents_of(operands: Sequence[Value], labels: Sequence[Labels], what: str) -> dict[str, int]:
    """Returns the extent of each label; axes of one element are stretched.

    Raises:
        ExtentError: for a label with two extents.
    """
    extents: dict[str, int] = {}
    for number, (operand, names) in enumerate(zip(operands, labels, strict=True)):
        for axis, (label, size) in enumerate(zip(names, operand.shape, strict=True)):
            known = extents.setdefault(label, size)
            if known == size or size == 1:
                continue
            if known != 1:
                raise ExtentError(
                    f"expected index {label} to range over one extent, but got {known} and {size} "
                    f"(axis {axis} of operand {number}) in {what}"
                )
            extents[label] = size
    return extents


def _check_diagonals(operands: Sequence[Value], labels: Sequence[Labels], what: str) -> None:
    for number, (operand, names) in enumerate(zip(operands, labels, strict=True)):
        for axis, label in enumerate(names):
            first = names.index(label)
            if operand.shape[first] != operand.shape[axis]:
                raise ExtentError(
                    f"expected equal extents for index {label} of operand {number}, but got {operand.shape[first]} "
                    f"(axis {first}) and {operand.shape[axis]} (axis {axis}) in {what}"
                )


def prepared(
    operands: Sequence[Value], labels: Sequence[Labels], what: str
) -> tuple[list[Value], list[Labels], dict[str, int]]:
    """Returns operands without repeated labels and stretched axes, and the extents."""
    _check_diagonals(operands, labels, what)
    extents = extents_of(operands, labels, what)
    ready = [squeezed(*diagonal_of(operand, names), extents) for operand, names in zip(operands, labels, strict=True)]
    return [value for value, _ in ready], [names for _, names in ready], extents


def product(labels: Sequence[Labels], output: Labels, *, logical: bool = False) -> Assignment:
    """Returns the assignment of the product of operands, summed over the indices that the output lacks.

    Args:
        labels: for each operand the index of each axis.
        output: the indices of the result.
        logical: whether all are truth values, whose product is and, and whose sum is or.
    """
    accesses: list[Expr] = [access(number, names) for number, names in enumerate(labels)]
    joining = BinaryOp.AND if logical else BinaryOp.MUL
    statement = assignment(output, reduce(lambda a, b: Binary(joining, a, b), accesses))
    summed = {label for names in labels for label in names} > set(output)
    return replace(statement, op=AssignOp.REDUCE_OR) if logical and summed else statement


def contracted(
    operands: Sequence[Value],
    labels: Sequence[Labels],
    output: Labels,
    out: Any = None,
    semiring: Any = None,
    casting: str = "safe",
) -> Any:
    """Returns the product of prepared operands, summed over the indices that the output lacks, in one kernel.

    Args:
        operands: arrays and tensors.
        labels: for each the index of each axis.
        output: the indices of the result.
        out: the storage of the result, or an array for it; inferred when None.
        semiring: the meaning of products and sums; None for NumPy's.
        casting: the casts allowed to an array for the result, as in `numpy.can_cast`.

    A result with an axis of more than 2^31 - 1 elements is sparse, unless `out` is dense.
    """
    wide = wide_labels(operands, labels) if semiring is None and _is_sparse(out) else {}
    if wide:
        found = compacted(lambda ready: contracted(ready, labels, output), operands, labels, output, wide)
        return found if out is None or not isinstance(found, SparseTensor) else found.convert(out)
    named = _renamed(labels, output)
    if semiring is not None:
        tensors = {f"a{number}": operand for number, operand in enumerate(operands)}
        return evaluate(product(*named), out=out, tensors=tensors, semiring=semiring)
    common = common_type(operands)
    logical = common == np.bool_
    if not logical:
        operands = [_uncounted(number, operands, labels, output, common) for number in range(len(operands))]
    tensors = {f"a{number}": operand for number, operand in enumerate(operands)}
    if out is None:
        return computed(("product", *named), lambda: product(*named, logical=logical), operands)
    if isinstance(out, np.ndarray) and out.dtype != common:
        return _copied(contracted(operands, labels, output, "dense"), out, casting)
    return evaluate(product(*named, logical=logical), out=out, tensors=tensors)


def _uncounted(
    number: int, operands: Sequence[Value], labels: Sequence[Labels], output: Labels, common: np.dtype[Any]
) -> Value:
    """Returns an operand in the common type if it is summed alone, where notation would count its truth values."""
    others = {label for at, names in enumerate(labels) if at != number for label in names}
    alone = not others.union(output).issuperset(labels[number])
    counts = alone and operands[number].dtype == np.bool_
    return cast(operands[number], common) if counts else operands[number]


def _is_sparse(out: Any) -> bool:
    return out is None or isinstance(out, Encoding) or (isinstance(out, str) and out != "dense")


def _copied(result: Array, out: Array, casting: str) -> Array:
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]  # one of those it takes
        raise DTypeError(
            f"expected out of a type that {result.dtype} can be cast to by casting={casting!r}, but got {out.dtype}"
        )
    if result.shape != out.shape:
        raise ExtentError(f"expected out of shape {result.shape}, but got {out.shape}")
    with np.errstate(invalid="ignore"):  # of numbers out of the type's range
        out[...] = result
    return out


def _renamed(labels: Sequence[Labels], output: Labels) -> tuple[tuple[Labels, ...], Labels]:
    """Returns labels renamed to i0, i1, ... in order of appearance, so that equal patterns share a kernel."""
    names: dict[str, str] = {}
    for label in (label for group in (output, *labels) for label in group):
        names.setdefault(label, f"i{len(names)}")
    return tuple(tuple(names[label] for label in group) for group in labels), tuple(names[label] for label in output)


def common_type(operands: Sequence[Value]) -> np.dtype[Any]:
    """Returns the element type in which NumPy computes operands."""
    return reduce(promote, (DType.of(operand.dtype) for operand in operands)).numpy


def cast(operand: Value, dtype: np.dtype[Any]) -> Value:
    """Returns an operand in an element type; itself if it has the type."""
    if isinstance(operand, SparseTensor):
        return operand.astype(dtype)
    return operand.astype(dtype, copy=False)
