"""`einsum` and `einsum_path`, with NumPy's meaning, on any mix of sparse and dense operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value
from mlir_sparse.arrays.contraction import cast, common_type, contracted, prepared
from mlir_sparse.arrays.contraction_path import ContractionPath, factor_of, find_path, given_path
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import DTypeError, NotationSyntaxError, OperandError, UnknownTensorError
from mlir_sparse.notation import Semiring
from mlir_sparse.notation.einsum_strings import EinsumSubscripts, einsum_text, parse_einsum
from mlir_sparse.runtime import operand_check

__all__ = ["einsum", "einsum_path"]

Storage = str | Encoding | TensorType | Array
# `False`, `True`, `"greedy"`, `"optimal"`, or a path of `numpy.einsum_path`.
Optimize = bool | str | Sequence[Any]

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_ORDERS = ("C", "F", "A", "K")


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Storage | None = None,
    optimize: Optimize = True,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
    semiring: str | Semiring | None = None,
) -> Any:
    """Computes a NumPy einsum on any mix of sparse and dense operands.

    Products of three operands and more are split into kernels by estimated cost; see `einsum_path`. Axes of one element
    are stretched, as in NumPy.

    Args:
        subscripts: subscripts as in `numpy.einsum`, with implicit outputs and ellipses; or the first operand, in the
            form `einsum(op0, sublist0, op1, sublist1, ..., [sublistout])`.
        operands: arrays, SparseTensors or other libraries' sparse arrays.
        out: the storage of the result, or an array for a dense one; inferred when absent, as for `evaluate`.
        optimize: False for one loop nest over all operands, or a path of `numpy.einsum_path`; a last loop nest joins
            the operands that a path leaves.
        dtype: the element type to compute in; by default the operands' common one.
        casting: the casts allowed of operands to `dtype` and of the result to an array, as in `numpy.can_cast`.
        order: "F" for a new dense result by columns, else by rows.
        semiring: the meaning of products and sums, any argument of `semiring`; all operands are then in one loop nest.

    Raises:
        NotationSyntaxError: for text that is no einsum string.
        RankError: where the numbers of operands or subscripts differ from those of the text.
        ExtentError: for an index with two extents other than 1.
        DTypeError: for operands that `casting` does not allow to cast to `dtype`.

    >>> einsum("ij,j->i", np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    >>> einsum(np.eye(2), [0, 1], np.array([3.0, 4.0]), [1], [0])
    array([3., 4.])
    """
    by_columns = _one_of(_ORDERS, "order", order.upper() if isinstance(order, str) else order) == "F"
    _one_of(_CASTINGS, "casting", casting)
    parsed, values = _arguments(subscripts, operands)
    if dtype is not None or len(values) > 2:  # a partial product in a smaller type would be less precise
        wanted = common_type(values) if dtype is None else _castable(values, numpy_dtype(dtype), casting)
        values = [cast(value, wanted) for value in values]
    ready, labels, extents = prepared(values, parsed.operands, parsed.source.text)
    if len(ready) <= 2 or semiring is not None:
        found = contracted(ready, labels, parsed.output, out, semiring, casting)
    else:
        found = _run(_path(parsed, ready, labels, extents, optimize), ready, out, casting)
    return np.asfortranarray(found) if by_columns and isinstance(found, np.ndarray) and found is not out else found


def _one_of(known: tuple[str, ...], name: str, given: str) -> str:
    if given not in known:
        raise OperandError(f"expected {name}= one of {', '.join(known)}, but got {given!r}")
    return given


def _castable(values: Sequence[Value], wanted: np.dtype[Any], casting: str) -> np.dtype[Any]:
    """Returns the element type, if all operands may be cast to it."""
    for number, value in enumerate(values):
        if not np.can_cast(value.dtype, wanted, casting):  # type: ignore[arg-type]  # one of those it takes
            raise DTypeError(
                f"expected operands that can be cast to {wanted} by casting={casting!r}, but got {value.dtype} "
                f"(operand {number}): pass casting='unsafe', or cast it with astype"
            )
    return wanted


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Optimize = True) -> ContractionPath:
    """Returns the kernels that an einsum of three operands or more runs, in order, with their estimated costs.

    Args:
        subscripts: as for `einsum`.
        operands: as for `einsum`; only shapes and numbers of entries matter.
        optimize: as for `einsum`.

    >>> import mlir_sparse as ms
    >>> A = ms.tensor(np.ones((30, 30)))
    >>> print(einsum_path("ij,jk,k->i", A, A, np.ones(30)))
    ij,jk,k->i
    one loop nest: about 2.7e+04 steps; this path: 1.8e+03
    operands     kernel                         loop steps      entries
    (1, 2)       jk,k->j                               900           30
    (0, 1)       ij,j->i                               900           30
    """
    parsed, values = _arguments(subscripts, operands)
    return _path(parsed, *prepared(values, parsed.operands, parsed.source.text), optimize)


def _arguments(subscripts: Any, operands: tuple[Any, ...]) -> tuple[EinsumSubscripts, list[Value]]:
    if isinstance(subscripts, str):
        if not operands:
            raise UnknownTensorError(f"expected operands for einsum {subscripts!r}, but got none")
        text = subscripts
    else:
        text, operands = _from_sublists((subscripts, *operands))
    values = [operand_check.value_of(f"operand {number}", operand) for number, operand in enumerate(operands)]
    return parse_einsum(text, tuple(value.ndim for value in values)), values


def _from_sublists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Returns text and operands of einsum's other form, which alternates operands and lists."""
    operands, sublists = given[: len(given) // 2 * 2 : 2], given[1::2]
    output = given[-1] if len(given) % 2 else None
    if not operands:
        raise UnknownTensorError("expected operands and lists of subscripts in turn, but got no list")
    for sublist in (*sublists, *([output] if output is not None else [])):
        if not _is_list(sublist):
            raise NotationSyntaxError(
                "expected an einsum string, or operands and lists of subscripts in turn, "
                f"but got {type(sublist).__name__} where a list belongs"
            )
    return einsum_text(sublists, output), operands


def _is_list(sublist: object) -> bool:
    """Returns whether an object is a list of subscripts; NumPy also accepts arrays of integers."""
    if isinstance(sublist, np.ndarray):
        return sublist.ndim == 1 and sublist.dtype.kind in "iu"
    return isinstance(sublist, Sequence) and not isinstance(sublist, str)


def _path(
    parsed: EinsumSubscripts,
    values: Sequence[Value],
    labels: Sequence[Labels],
    extents: dict[str, int],
    optimize: Optimize,
) -> ContractionPath:
    factors = [factor_of(value, names) for value, names in zip(values, labels, strict=True)]
    problem = factors, parsed.output, extents
    text = parsed.source.text
    # NumPy also accepts (method, memory limit).
    chosen = optimize[0] if isinstance(optimize, tuple) and optimize and isinstance(optimize[0], str) else optimize
    match chosen if isinstance(chosen, bool | str | list | tuple) else None:
        case True | "greedy" | "optimal":
            return find_path(text, *problem)
        case False:
            return given_path(text, [range(len(values))], *problem)
        case ["einsum_path", *steps] if all(_is_step(step, len(values)) for step in steps):
            return given_path(text, steps, *problem)
        case _:
            rule = "True, False, 'greedy', 'optimal' or a path ['einsum_path', (0, 1), ...]"
            raise OperandError(f"expected optimize={rule}, but got {optimize!r}")


def _is_step(step: object, count: int) -> bool:
    return isinstance(step, tuple | list) and all(isinstance(at, int) and 0 <= at < count for at in step)


def _run(path: ContractionPath, values: list[Value], out: Storage | None, casting: str) -> Any:
    left = list(values)
    for number, step in enumerate(path.steps):
        taken = [left[position] for position in step.operands]
        last = number == len(path.steps) - 1
        found = contracted(taken, step.labels, step.output, out if last else None, casting=casting)
        left = [value for at, value in enumerate(left) if at not in step.operands] + [found]
    return left[0]
