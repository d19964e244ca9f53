"""`einsum` and `einsum_path`, with NumPy's meaning, on any mix of sparse and dense operands."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import Labels, Value
from mlir_sparse.arrays.chunked_products import check_in_chunks
from mlir_sparse.arrays.contraction import are_plain, cast, common_type, contracted, planned, prepared, renamed
from mlir_sparse.arrays.contraction_path import ContractionPath, JoinStep, planned_path, steps_of
from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.classes import dataclass
from mlir_sparse.compile.chunked_operands import type_in_chunks
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.compile.definitions.filled_operands import definition_beside
from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import DTypeError, NotationSyntaxError, OperandError, UnknownTensorError
from mlir_sparse.notation import Semiring
from mlir_sparse.notation.einsum_strings import EinsumSubscripts, einsum_text, parse_einsum
from mlir_sparse.process import settings
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import FilledTensor
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = ["einsum", "einsum_path"]

Storage = str | Encoding | TensorType | Array
# As for `compile`; `True` or a method of NumPy's for "auto", `False` for "off"; or a path of `numpy.einsum_path`.
Optimize = bool | str | Sequence[Any]

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_ORDERS = ("C", "F", "A", "K")


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Storage | None = None,
    optimize: Optimize | None = None,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
    semiring: str | Semiring | None = None,
) -> Any:
    """Computes a NumPy einsum on any mix of sparse and dense operands.

    It is one statement for `evaluate`, computed in the cheapest way by estimate; `einsum_path` tells which. Axes of one
    element are stretched, as in NumPy. Operands that are one object are one tensor: what equal products of it have in
    common is computed once.

    Args:
        subscripts: subscripts as in `numpy.einsum`, with implicit outputs and ellipses; or the first operand, in the
            form `einsum(op0, sublist0, op1, sublist1, ..., [sublistout])`.
        operands: arrays, SparseTensors or other libraries' sparse arrays; with dask.arrays among them the result is a
            dask.array, of which nothing is computed yet.
        out: the storage of the result, or an array for a dense one; inferred when absent, as for `evaluate`.
        optimize: "auto", "off" or another name, as for `compile`; True and NumPy's "greedy" and "optimal" stand for
            "auto", False for "off"; None for what the process is set to. NumPy's ("greedy", limit) stands for "off"
            where an intermediate would have more elements than the limit, stored or not. Or a path of
            `numpy.einsum_path`, each step of which is a kernel as written; a last one joins the operands that the path
            leaves.
        dtype: the element type to compute in; by default the operands' common one.
        casting: the casts allowed of operands to `dtype` and of the result to an array, as in `numpy.can_cast`.
        order: "F" for a new dense result by columns, else by rows.
        semiring: the meaning of products and sums, any argument of `semiring`.

    Raises:
        NotationSyntaxError: for text that is no einsum string.
        RankError: where the numbers of operands or subscripts differ from those of the text.
        ExtentError: for an index with two extents other than 1.
        DTypeError: for operands that `casting` does not allow to cast to `dtype`.
        OperandError: for an unknown `optimize`, `casting` or `order`, and for a path under a semiring.

    >>> einsum("ij,j->i", np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    >>> einsum(np.eye(2), [0, 1], np.array([3.0, 4.0]), [1], [0])
    array([3., 4.])
    """
    by_columns = _one_of(_ORDERS, "order", order.upper() if isinstance(order, str) else order) == "F"
    _one_of(_CASTINGS, "casting", casting)
    parsed, values = _arguments(subscripts, operands, dtype is None, semiring is None, chunks=True)
    chosen = _chosen(optimize, len(values))
    if any(isinstance(value, DefinedTensor) for value in values):
        values = _composable(values, parsed, isinstance(chosen, str | None))
    if dtype is not None or len(values) > 2:  # a partial product in a smaller type would be less precise
        wanted = common_type(values) if dtype is None else _castable(values, numpy_dtype(dtype), casting)
        values = _cast_all(values, wanted)
    if any(map(is_in_chunks, values)):
        check_in_chunks(values, parsed.operands, out, limited=isinstance(chosen, _WithLimit), by_columns=by_columns)
    ready, labels = prepared(values, parsed.operands, parsed.source.text)
    if isinstance(chosen, _WithLimit):
        chosen = chosen.of(ready, labels, parsed.output)
    if chosen is None or isinstance(chosen, str):
        found = contracted(ready, labels, parsed.output, out, semiring, casting, chosen)
    elif semiring is None:
        found = _joined(steps_of(chosen, labels, parsed.output), ready, out, casting)
    else:
        raise OperandError(f"expected optimize=True or False with semiring=, but got {optimize!r}")
    return np.asfortranarray(found) if by_columns and isinstance(found, np.ndarray) and found is not out else found


def _composable(values: list[Any], parsed: EinsumSubscripts, whole: bool) -> list[Value]:
    """Returns operands of which defined tensors stay what they are, where one statement reads them as they are."""
    plain = are_plain(parsed.operands, tuple(value.shape for value in values))
    common = common_type(values)
    made = {
        id(value): value
        if plain and whole and (len(values) < 3 or value.dtype == common)
        else operand_check.value_of("an operand", value)
        for value in values
    }
    return [made[id(value)] for value in values]


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


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Optimize | None = None) -> ContractionPath:
    """Returns the order in which `einsum` joins its operands.

    Its `path` is NumPy's list of the positions that each step joins, which `einsum` takes as well, also on other
    operands. A part that is read in several places is in it once for each, and computed once; operands that are one
    object are one tensor.

    Args:
        subscripts: as for `einsum`.
        operands: as for `einsum`; only shapes, numbers of entries and their degrees matter.
        optimize: as for `einsum`.

    >>> import mlir_sparse as ms
    >>> A = ms.tensor(np.ones((300, 300)))
    >>> print(einsum_path("ij,jk,k->i", A, A, np.ones(300)))  # doctest: +ELLIPSIS
    ij,jk,k->i
    2 loop nests
    (1, 2)       jk,k->j
    (0, 1)       ij,j->i
    because: ... ms by estimate; ... ms as written...
    """
    parsed, values = _arguments(subscripts, operands)
    path = _chosen(optimize, len(values))
    values = _cast_all(values, common_type(values)) if len(values) > 2 else values
    ready, labels = prepared(values, parsed.operands, parsed.source.text)
    if isinstance(path, _WithLimit):
        path = path.of(ready, labels, parsed.output)
    account: tuple[str, ...] = ()
    if path is None or isinstance(path, str):
        factors, kernel = planned(ready, labels, parsed.output, path)
        path = planned_path(factors, kernel.spec.rewriting)
        if kernel.spec.rewriting is not None:
            account = tuple(line for line in kernel.account if line.startswith("because"))
    return ContractionPath(parsed.source.text, tuple(steps_of(path, labels, parsed.output)), account)


def _cast_all(values: Sequence[Value], wanted: np.dtype[Any]) -> list[Value]:
    """Returns values in a type; one object stays one."""
    made = {id(value): value if value.dtype == wanted else cast(value, wanted) for value in values}
    return [made[id(value)] for value in values]


def _arguments(
    subscripts: Any, operands: tuple[Any, ...], defined: bool = False, filled: bool = False, chunks: bool = False
) -> tuple[EinsumSubscripts, list[Value]]:
    """Returns the subscripts and the operands as data.

    Args:
        subscripts: as for `einsum`.
        operands: likewise.
        defined: whether defined tensors stay what they are.
        filled: whether tensors with a fill value become defined tensors, and are not refused.
        chunks: whether dask.arrays stay what they are.
    """
    if isinstance(subscripts, str):
        if not operands:
            raise UnknownTensorError(f"expected operands for einsum {subscripts!r}, but got none")
        text = subscripts
    else:
        text, operands = _from_sublists((subscripts, *operands))
    made: dict[int, Any] = {}
    for number, operand in enumerate(operands):
        if id(operand) not in made:
            known = definition_beside(operand, operands) if filled and type(operand) is FilledTensor else operand
            stays = defined and isinstance(known, DefinedTensor)
            if chunks and is_in_chunks(known):
                type_in_chunks(f"operand {number}", known)  # which says what cannot be
                stays = True
            made[id(operand)] = known if stays else operand_check.value_of(f"operand {number}", known)
    values = [made[id(operand)] for operand in operands]
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


@dataclass(frozen=True, slots=True)
class _WithLimit:
    """NumPy's limit on how many elements each intermediate may have."""

    elements: float

    def of(self, operands: Sequence[Value], labels: Sequence[Labels], output: Labels) -> str:
        """Returns how a product is optimized: as it is written where an intermediate would be larger."""
        factors, kernel = planned(operands, labels, output, "auto")
        axes = (zip(names, one.shape, strict=True) for one, names in zip(operands, labels, strict=True))
        extents = dict(itertools.chain(*axes))
        *first, _ = steps_of(planned_path(factors, kernel.spec.rewriting), labels, output)
        sizes = (prod(extents[label] for label in step.output) for step in first)
        return "auto" if all(size <= self.elements for size in sizes) else "off"


def _chosen(optimize: Any, count: int) -> str | _WithLimit | Sequence[Sequence[int]] | None:
    """Returns how a product is optimized, as for `compile`, or the positions of each step of a path."""
    match optimize if isinstance(optimize, bool | str | list | tuple) else None:
        case None if optimize is None:
            return None
        case True | "greedy" | "optimal":
            return "auto"
        case False:
            return "off"
        case str() if optimize in settings.OPTIMIZATIONS:
            return str(optimize)
        case ("greedy" | "optimal", int() | float() as limit):
            return _WithLimit(float(limit))
        case ["einsum_path", *steps] if all(_is_step(step, count) for step in steps):
            return steps
        case _:
            rule = "True, False, 'greedy', 'optimal', 'auto', 'off', 'algebra' or a path ['einsum_path', (0, 1), ...]"
            raise OperandError(f"expected optimize={rule}, but got {optimize!r}")


def _is_step(step: object, count: int) -> bool:
    return isinstance(step, tuple | list) and all(isinstance(at, int) and 0 <= at < count for at in step)


def _joined(steps: Iterable[JoinStep], values: Sequence[Value], out: Storage | None, casting: str) -> Any:
    """Returns a product computed by the steps of a path; equal ones are computed once."""
    left: list[tuple[Any, Hashable]] = [(value, id(value)) for value in values]
    *first, last = steps
    for step in first:
        taken, made_of = zip(*(left[position] for position in step.positions), strict=True)
        key = (made_of, renamed(step.labels, step.output))
        known = next((value for value, its in left if its == key), None)
        found = contracted(taken, step.labels, step.output, optimize="off") if known is None else known
        left = [*(pair for at, pair in enumerate(left) if at not in step.positions), (found, key)]
    return contracted([value for value, _ in left], last.labels, last.output, out, casting=casting, optimize="off")
