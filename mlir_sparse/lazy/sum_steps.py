"""Sums of lazy expressions: reductions, matrix products, `einsum`, norms."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.axis_arguments import axes_of
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType, numpy_dtype
from mlir_sparse.errors import ExtentError, RankError, UnsupportedError
from mlir_sparse.lazy.elementwise_steps import as_view, cast_view, elementwise_step
from mlir_sparse.lazy.recorded_statements import Labels, axis_names, product
from mlir_sparse.lazy.recorded_values import ArrayView, operand_view, recorded
from mlir_sparse.notation import Expr, IndexVar, Reduce, ReduceOp
from mlir_sparse.notation.einsum_strings import parse_einsum

__all__ = ["einsum_step", "matmul_step", "mean_step", "norm_step", "sum_step"]


@dataclass(frozen=True, slots=True)
class _SumOfProducts:
    """The sum of products over some variables, of what a step reads."""

    over: tuple[str, ...]

    def __call__(self, *reads: Expr) -> Expr:
        value = product(reads)
        return Reduce(ReduceOp.SUM, tuple(map(IndexVar, self.over)), value) if self.over else value


_SUM_OVER_K = _SumOfProducts(("k",))


@lru_cache(maxsize=256)
def _labels_of_sum(rank: int, axes: tuple[int, ...]) -> tuple[Labels, Labels, _SumOfProducts]:
    """Returns the variables of an operand, of its sum over axes, and what that is."""
    labels = axis_names(rank)
    kept = tuple(label for number, label in enumerate(labels) if number not in axes)
    return labels, kept, _SumOfProducts(tuple(labels[number] for number in axes))


@lru_cache(maxsize=16)
def _labels_of_product(left: int, right: int) -> tuple[tuple[Labels, Labels], Labels]:
    """Returns the variables of the operands of `@`, by their ranks, and of the result."""
    rows, columns = ("m",) * (left - 1), ("n",) * (right - 1)
    return ((*rows, "k"), ("k", *columns)), (*rows, *columns)


@lru_cache(maxsize=256)
def _type_of_sum(dtype: np.dtype[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any]:
    """Returns the element type that NumPy sums in."""
    found: np.dtype[Any] = np.add.reduce(np.ones(1, dtype), dtype=wanted).dtype
    return found


def sum_step(source: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> ArrayView:
    """Returns the sum over axes: of all without `axis`.

    Raises:
        UnsupportedError: for an element type that the sum is not computed in.
    """
    view = source if type(source) is ArrayView else as_view(source)
    axes = axes_of(axis, view.ndim)
    present = view.dtype
    wanted = _type_of_sum(present, None if dtype is None else numpy_dtype(dtype))
    if present != wanted and present != np.bool_:
        view = cast_view(view, wanted)
    labels, kept, value = _labels_of_sum(view.ndim, axes)
    # A sum over axes of one element has no loop: truth values are counted all the same.
    if present == np.bool_ and all(view.shape[number] == 1 for number in axes):
        view = cast_view(view, wanted)
    found = recorded([view], (labels,), kept, value, wanted, "sum")
    if not keepdims:
        return found
    order = iter(range(found.ndim))
    return found.permuted([None if number in axes else next(order) for number in range(view.ndim)])


def mean_step(source: Any, axis: Any = None, *, keepdims: bool = False) -> ArrayView:
    """Returns the average over axes, in f64 for integers."""
    view = as_view(source)
    if DType.of(view.dtype).is_narrow:
        raise UnsupportedError(f"expected mean of a wider element type, but got {view.dtype}: call .compute() first")
    if view.dtype.kind in "biu":
        view = cast_view(view, np.dtype(np.float64))
    count = prod(view.shape[number] for number in axes_of(axis, view.ndim))
    total = sum_step(view, axis, keepdims=keepdims)
    return elementwise_step(np.true_divide, [total, operand_view(np.array(count, view.dtype))])


def matmul_step(left: Any, right: Any) -> ArrayView:
    """Returns the product of `@`, of vectors and matrices.

    Raises:
        UnsupportedError: for stacks of matrices.
        RankError: for numbers.
        ExtentError: for inner extents that differ.
    """
    a = left if type(left) is ArrayView else as_view(left)
    b = right if type(right) is ArrayView else as_view(right)
    shapes = a.shape, b.shape
    if () in shapes:
        raise RankError("expected operands of one dimension or more for @, but got a number: use * for that")
    if len(shapes[0]) > 2 or len(shapes[1]) > 2:
        raise UnsupportedError(
            f"expected vectors and matrices for @, but got stacks of shapes {shapes[0]} and {shapes[1]}: "
            "write np.einsum, or call .compute() on the operands first"
        )
    inner = shapes[0][-1], shapes[1][0]
    if inner[0] != inner[1]:
        raise ExtentError(
            f"expected equal inner extents for @, but got {inner[0]} and {inner[1]}: "
            f"shape {shapes[0]} and shape {shapes[1]}"
        )
    labels, output = _labels_of_product(len(shapes[0]), len(shapes[1]))
    dtypes = a.dtype, b.dtype
    wanted = dtypes[0] if dtypes[0] == dtypes[1] else np.result_type(*dtypes)
    return recorded([a, b], labels, output, _SUM_OVER_K, wanted, "@")


def einsum_step(subscripts: Any, *operands: Any) -> ArrayView:
    """Returns `np.einsum` of a string of subscripts.

    Raises:
        UnsupportedError: for lists of subscripts.
        NotationSyntaxError, RankError: for text that is no einsum string of these operands.
        ExtentError: for an index with two extents other than 1.
    """
    if not isinstance(subscripts, str):
        raise UnsupportedError("expected subscripts as text for a lazy einsum, but got lists: write them as 'ij,j->i'")
    views = [as_view(operand) for operand in operands]
    parsed = parse_einsum(subscripts, tuple(view.ndim for view in views))
    _check_extents(views, parsed.operands, subscripts)
    summed = {label for labels in parsed.operands for label in labels} - set(parsed.output)
    names = {label: f"e{number}" for number, label in enumerate(sorted({*summed, *parsed.output}))}
    labels = tuple(tuple(names[label] for label in own) for own in parsed.operands)
    over = tuple(names[label] for label in sorted(summed))
    wanted = np.result_type(*[view.dtype for view in views])
    output = tuple(names[label] for label in parsed.output)
    return recorded(views, labels, output, _SumOfProducts(over), wanted, "np.einsum")


def _check_extents(views: list[ArrayView], labels: tuple[tuple[str, ...], ...], text: str) -> None:
    extents: dict[str, int] = {}
    for view, own in zip(views, labels, strict=True):
        for label, size in zip(own, view.shape, strict=True):
            repeated = own.count(label) > 1 and extents.setdefault(label, size) != size
            if repeated or (size != 1 and extents.get(label, 1) not in (1, size)):
                raise ExtentError(
                    f"expected index {label} to range over one extent, but got {extents[label]} and {size} in {text}"
                )
            extents[label] = size if size != 1 else extents.get(label, 1)


def norm_step(source: Any, order: Any = None) -> ArrayView:
    """Returns `np.linalg.norm` over all axes: the root of the sum of squares."""
    view = as_view(source)
    if order is not None and not (view.ndim == 1 and order == 2):
        raise UnsupportedError(f"expected the norm of all squares, but got ord={order!r}: call .compute() first")
    if view.dtype.kind in "biu":
        view = cast_view(view, np.dtype(np.float64))
    squares = elementwise_step(np.square, [elementwise_step(np.absolute, [view]) if view.dtype.kind == "c" else view])
    return elementwise_step(np.sqrt, [sum_step(squares)])
