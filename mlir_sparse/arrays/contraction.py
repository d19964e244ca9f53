"""Products summed over shared indices, which einsum, matmul, dot and sums are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value, diagonal_of, squeezed
from mlir_sparse.arrays.compact_products import compacted, wide_labels
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.operator_kernels import access, assignment
from mlir_sparse.arrays.recent_kernels import RecentKernels
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile, evaluate
from mlir_sparse.compile.repeated_calls import REPEATED
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import DTypeError, ExtentError
from mlir_sparse.notation import Access, Assignment, Binary, BinaryOp, Expr, walk
from mlir_sparse.spec import promote
from mlir_sparse.tensor import SparseTensor

__all__ = ["are_plain", "cast", "common_type", "contracted", "extents_of", "planned", "prepared", "product", "renamed"]


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


def prepared(operands: Sequence[Value], labels: Sequence[Labels], what: str) -> tuple[list[Value], list[Labels]]:
    """Returns operands without repeated labels and stretched axes."""
    if are_plain(tuple(labels), tuple(operand.shape for operand in operands)):
        return list(operands), list(labels)
    _check_diagonals(operands, labels, what)
    extents = extents_of(operands, labels, what)
    ready = [squeezed(*diagonal_of(operand, names), extents) for operand, names in zip(operands, labels, strict=True)]
    return [value for value, _ in ready], [names for _, names in ready]


@lru_cache(maxsize=512)
def are_plain(labels: tuple[Labels, ...], shapes: tuple[tuple[int, ...], ...]) -> bool:
    """Returns whether no operand has a label twice, and each label one extent."""
    pairs = {pair for names, shape in zip(labels, shapes, strict=True) for pair in zip(names, shape, strict=True)}
    once = all(len(set(names)) == len(names) for names in labels)
    return once and len(pairs) == len({label for label, _ in pairs})


def product(labels: Sequence[Labels], output: Labels, numbers: Sequence[int] | None = None) -> Assignment:
    """Returns the assignment of the product of operands, summed over the indices that the output lacks.

    Args:
        labels: for each factor the index of each axis.
        output: the indices of the result.
        numbers: for each factor the number of its operand; each its own when None.
    """
    factors = zip(range(len(labels)) if numbers is None else numbers, labels, strict=True)
    accesses: list[Expr] = [access(number, names) for number, names in factors]
    return assignment(output, reduce(lambda a, b: Binary(BinaryOp.MUL, a, b), accesses))


def contracted(
    operands: Sequence[Value],
    labels: Sequence[Labels],
    output: Labels,
    out: Any = None,
    semiring: Any = None,
    casting: str = "safe",
    optimize: str | None = None,
    recent: RecentKernels | None = None,
) -> Any:
    """Returns the product of prepared operands, summed over the indices that the output lacks, in one kernel.

    One operand in several places is one tensor to the kernel.

    Args:
        operands: arrays and tensors.
        labels: for each the index of each axis.
        output: the indices of the result.
        out: the storage of the result, or an array for it; inferred when None.
        semiring: the meaning of products and sums; None for NumPy's.
        casting: the casts allowed to an array for the result, as in `numpy.can_cast`.
        optimize: as for `compile`.
        recent: where to keep the kernel, if it takes these very operands; for a dense result alone.

    A result with an axis of more than 2^31 - 1 elements is sparse, unless `out` is dense.
    """
    wide = wide_labels(operands, labels) if semiring is None and _is_sparse(out) else {}
    if wide:
        found = compacted(
            lambda ready: contracted(ready, labels, output, optimize=optimize), operands, labels, output, wide
        )
        return found if out is None or not isinstance(found, SparseTensor) else found.convert(out)
    common = common_type(operands)
    if isinstance(out, np.ndarray) and out.dtype != common and semiring is None:
        return _copied(contracted(operands, labels, output, "dense", optimize=optimize), out, casting)
    text, tensors, ring = _statement(operands, labels, output, common, semiring)
    found = evaluate(text, out=out, semiring=ring, optimize=optimize, **tensors)
    if recent is not None and type(found) is np.ndarray and _are(operands, tuple(tensors.values())):
        recent.keep(REPEATED.known(text, ring, tensors))
    return found


def _are(operands: Sequence[Value], others: Sequence[Value]) -> bool:
    return len(operands) == len(others) and all(map(operator.is_, operands, others))


def planned(
    operands: Sequence[Value], labels: Sequence[Labels], output: Labels, optimize: str | None
) -> tuple[list[Access], Kernel]:
    """Returns the factors of the product that `contracted` computes, and its kernel."""
    text, tensors, ring = _statement(operands, labels, output, common_type(operands), None)
    kernel = compile(text, semiring=ring, optimize=optimize, **tensors)
    assert isinstance(kernel, Kernel), "a product is one statement without ranges"
    value = kernel.spec.assignment.value
    return [node for node in walk(value) if isinstance(node, Access)], kernel


def _statement(
    operands: Sequence[Value], labels: Sequence[Labels], output: Labels, common: np.dtype[Any], ring: Any
) -> tuple[str, dict[str, Any], Any]:
    """Returns the text of a product, its tensors by name, and its semiring: or and and for NumPy's truth values."""
    if ring is None and common.kind == "b":
        ring = "or_and"
    elif ring is None and "b" in [operand.dtype.kind for operand in operands]:
        operands = [_uncounted(number, operands, labels, output, common) for number in range(len(operands))]
    numbers: dict[int, int] = {}
    for number, operand in enumerate(operands):
        numbers.setdefault(id(operand), number)
    tensors = {f"a{number}": operands[number] for number in numbers.values()}
    return _text(tuple(labels), output, tuple([numbers[id(operand)] for operand in operands])), tensors, ring


def renamed(labels: Sequence[Labels], output: Labels) -> tuple[tuple[Labels, ...], Labels]:
    """Returns labels renamed to i0, i1, ... in order of appearance, so that equal patterns share a kernel."""
    names: dict[str, str] = {}
    for label in (label for group in (output, *labels) for label in group):
        names.setdefault(label, f"i{len(names)}")
    return tuple(tuple(names[label] for label in group) for group in labels), tuple(names[label] for label in output)


@lru_cache(maxsize=512)
def _text(labels: tuple[Labels, ...], output: Labels, numbers: tuple[int, ...]) -> str:
    return str(product(*renamed(labels, output), numbers))


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


def common_type(operands: Sequence[Value]) -> np.dtype[Any]:
    """Returns the element type in which NumPy computes operands."""
    return _common(tuple([operand.dtype for operand in operands]))


@lru_cache(maxsize=256)
def _common(dtypes: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    return reduce(promote, map(DType.of, dtypes)).numpy


def cast(operand: Value, dtype: np.dtype[Any]) -> Value:
    """Returns an operand in an element type; itself if it has the type."""
    return operand.astype(dtype, copy=False) if isinstance(operand, np.ndarray) else operand.astype(dtype)
