"""What a lazy expression stands for: operands, and statements that nobody has computed yet.

A value is recorded without its axes of one element, and in the order of axes in which it is computed; what a user sees
is a view of it. So broadcasting, `None` in an index and transposition take no step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.chunked_operands import type_in_chunks
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.compile.definitions.derived_operands import DerivedOperand, MadeOperand
from mlir_sparse.compile.definitions.filled_operands import definition_of
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.lazy.recorded_statements import Labels, StatementForm, checked, recorded_step
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Expr,
    IndexVar,
    Reduce,
    accesses_of,
    rename_variables,
    replace_accesses,
    walk,
)
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor import FilledTensor, SparseTensor
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = [
    "ArrayView",
    "OperandValue",
    "Recorded",
    "StatementValue",
    "operand_value",
    "operand_view",
    "recorded",
    "steps_of",
]

Array = np.ndarray[Any, Any]


# Values and views are made anew at each recording, and frozen ones take three times as long to make.
@dataclass(slots=True, eq=False)
class OperandValue:
    """A tensor or an array, which is not copied, or what a defined tensor reads, which is found at each computation.

    Args:
        source: the operand: a SparseTensor, an array, a dask.array, or a DerivedOperand.
        kind: its type, with any shape.
        shape: its shape.
    """

    source: Any
    kind: TensorType
    shape: tuple[int, ...]

    def data(self) -> Any:
        """Returns the tensor or the array."""
        source = self.source
        if isinstance(source, SparseTensor | np.ndarray) or is_in_chunks(source):
            return source
        return source.value()


def operand_value(source: SparseTensor | Array | DerivedOperand) -> OperandValue:
    """Returns an operand as a value."""
    if isinstance(source, np.ndarray):
        return OperandValue(source, _kind(source.dtype, source.ndim, None), source.shape)
    if isinstance(source, SparseTensor):  # its parts are read once, as this is done for each operand of a recording
        storage, shape = source._storage, source._shape
        return OperandValue(source, _kind(storage.values.dtype, len(shape), storage.encoding), shape)
    kind = source.kind
    return OperandValue(source, _kind(kind.dtype, kind.rank, kind.encoding), tuple(size or 0 for size in kind.shape))


@lru_cache(maxsize=1024)
def _kind(dtype: np.dtype[Any] | DType, rank: int, encoding: Encoding | None) -> TensorType:
    return TensorType(DType.of(dtype), (None,) * rank, encoding)


@dataclass(slots=True, eq=False)
class StatementValue:
    """What a statement gives.

    Args:
        operands: what it reads, in the order of the statement's inputs.
        form: the statement.
        shape: the shape of its value.
    """

    operands: tuple[Recorded, ...]
    form: StatementForm
    shape: tuple[int, ...]

    @property
    def kind(self) -> TensorType:
        """Returns the type of its value, with any shape."""
        return self.form.kind


Recorded = OperandValue | StatementValue


@dataclass(slots=True, eq=False)
class ArrayView:
    """A recorded value as an array.

    Args:
        value: the value.
        axes: the axis of the value behind each axis of the array; None for an axis of one element that it lacks.
    """

    value: Recorded
    axes: tuple[int | None, ...] = field(default=())

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each axis."""
        shape = self.value.shape
        if self.axes == _axes(len(shape)):
            return shape
        return tuple([1 if axis is None else shape[axis] for axis in self.axes])

    @property
    def ndim(self) -> int:
        """Returns the number of axes."""
        return len(self.axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Returns the element type."""
        return self.value.kind.dtype.numpy

    @property
    def is_sparse(self) -> bool:
        """Returns whether loops visit stored entries only."""
        encoding = self.value.kind.encoding
        return encoding is not None and not encoding.is_dense

    def permuted(self, order: Sequence[int | None]) -> ArrayView:
        """Returns the array with its axes in another order, and new ones of one element where that is None."""
        return ArrayView(self.value, tuple(None if axis is None else self.axes[axis] for axis in order))


@lru_cache(maxsize=64)
def _axes(rank: int) -> tuple[int, ...]:
    """Returns all axes."""
    return tuple(range(rank))


@lru_cache(maxsize=64)
def _none(rank: int) -> tuple[bool, ...]:
    """Returns that no axis has one element."""
    return (False,) * rank


def operand_view(source: Any) -> ArrayView:
    """Returns a tensor, an array or a number as it is; of a defined tensor its definition.

    Raises:
        OperandError: for other objects.
        DTypeError: for an element type that the dialect lacks.
    """
    if type(source) is SparseTensor:
        return ArrayView(operand_value(source), _axes(len(source._shape)))
    if isinstance(source, DefinedTensor):
        return _defined_view(source)
    if type(source) is FilledTensor:
        return _defined_view(definition_of(source))
    if is_in_chunks(source):
        return _view_in_chunks(source)
    value = source if type(source) is np.ndarray else operand_check.value_of("lazy", source)
    if isinstance(value, SparseTensor):
        return ArrayView(operand_value(value), _axes(value.ndim))
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    DType.of(value.dtype)
    kept = [axis for axis, size in enumerate(value.shape) if size != 1]
    places: list[int | None] = [kept.index(axis) if axis in kept else None for axis in range(value.ndim)]
    if len(kept) < value.ndim:
        value = value.reshape([value.shape[axis] for axis in kept])
    if value.flags.f_contiguous and not value.flags.c_contiguous:  # its transpose needs no copy
        value, places = value.T, [None if place is None else value.ndim - 1 - place for place in places]
    return ArrayView(operand_value(value), tuple(places))


def _view_in_chunks(source: Any) -> ArrayView:
    kind = type_in_chunks("lazy", source)
    kept = [axis for axis, size in enumerate(source.shape) if size != 1]
    places = tuple(kept.index(axis) if axis in kept else None for axis in range(source.ndim))
    if len(kept) < source.ndim:
        source = source[tuple(slice(None) if axis in kept else 0 for axis in range(source.ndim))]
        kind = type_in_chunks("lazy", source)
    return ArrayView(OperandValue(source, _kind(kind.dtype, kind.rank, kind.encoding), tuple(source.shape)), places)


def _defined_view(tensor: DefinedTensor) -> ArrayView:
    """Returns a defined tensor as the statement that it is, or as data that each computation makes first."""
    found = tensor.composable
    if found.composition is not None and not found.open_axes:
        value, variables = found.composition.value, found.composition.variables
        bound = [index for node in walk(value) if isinstance(node, Reduce) for index in node.indices]
        own = {index: IndexVar(f"k{number}") for number, index in enumerate(dict.fromkeys(bound))}
        names = own | {index: IndexVar(f"i{number}") for number, index in enumerate(variables)}
        operands = {name: f"a{number}" for number, name in enumerate(found.operands)}
        reads = {access: operands[access.tensor] for access in accesses_of(value)}
        value = rename_variables(replace_accesses(value, reads), names)
        target = Access("t", tuple(names[index] for index in variables))
        values = [operand_value(one) for one in found.operands.values()]
        try:
            kinds = tuple(one.kind for one in values)
            assignment = Assignment(target, AssignOp.ASSIGN, value)
            form, inputs = checked(assignment, kinds, np.dtype(tensor.dtype), "a defined tensor")
        except UnsupportedError:  # a statement gives another element type than it does
            pass
        else:
            read = tuple(values[int(name[1:])] for name in inputs)
            return ArrayView(StatementValue(read, form, tensor.shape), tuple(range(tensor.ndim)))
    return ArrayView(operand_value(MadeOperand(tensor)), tuple(range(tensor.ndim)))


def recorded(
    operands: Sequence[ArrayView],
    labels: tuple[Labels, ...],
    output: Labels,
    value: Callable[..., Expr],
    wanted: np.dtype[Any],
    what: str,
) -> ArrayView:
    """Returns the value of a statement that has not been computed; for the arguments see `recorded_step`.

    Raises:
        UnsupportedError: if a kernel would give another element type.
    """
    values: list[Recorded] = []
    numbers: dict[int, int] = {}
    forms = []
    for view in operands:
        one = view.value
        number = numbers.setdefault(id(one), len(values))
        if number == len(values):
            values.append(one)
        shape = one.shape
        single = tuple([size == 1 for size in shape]) if 1 in shape else _none(len(shape))
        kind = one.form.kind if type(one) is StatementValue else one.kind
        forms.append((number, kind, view.axes, single))
    step = recorded_step(tuple(forms), labels, output, value, wanted, what)
    extents = tuple([values[number].shape[axis] for number, axis in step.extents]) if step.extents else ()
    return ArrayView(StatementValue(tuple(map(values.__getitem__, step.inputs)), step.form, extents), step.axes)


def steps_of(view: ArrayView) -> int:
    """Returns how many statements an array is computed by."""
    seen, left = set[int](), [view.value]
    while left:
        one = left.pop()
        if isinstance(one, StatementValue) and id(one) not in seen:
            seen.add(id(one))
            left += one.operands
    return len(seen)
