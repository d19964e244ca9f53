"""The operands of composed statements: the user's own, and those that stand for gathers and conditions.

Each gives its value at a call, so that what changes in the user's arrays is seen in the next one. What depends on
shapes alone is computed once; what depends on arrays of integers is computed again only where these have changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from mlir_sparse.compile.definitions.index_formulas import element_at, integers_of, truth_of
from mlir_sparse.dtypes import INTEGER, DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import CoordinatesError
from mlir_sparse.notation import Access, Call, Expr, IndexFormula, IndexVar, Literal, reads
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec.composition_of import EntriesOfPattern, Selection
from mlir_sparse.spec.logical_tensor import GuardedFormula
from mlir_sparse.spec.split_variables import RadixDigit
from mlir_sparse.tensor import SparseTensor

__all__ = [
    "DerivedOperand",
    "FormulaOperand",
    "MadeOperand",
    "OnesOperand",
    "PatternOperand",
    "SelectionOperand",
    "SourceOperand",
]

# Elements up to which rows and columns are numbered in 32 bits.
_NARROW = 2**31
Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


class DerivedOperand(ABC):
    """An operand of composed statements.

    `kind` is its type, with all extents; `digit` the quotient or remainder that the columns of a selection are, if all
    columns are there; `source_name` its name in the definition, if it is the user's own.
    """

    kind: TensorType
    digit: RadixDigit | None = None
    source_name: str = ""

    @abstractmethod
    def value(self) -> Value:
        """Returns the operand for a call, with what its data are now."""


class SourceOperand(DerivedOperand):
    """Data of the user's.

    Args:
        name: its name in the definition.
        source: the data.
    """

    def __init__(self, name: str, source: Any) -> None:
        self.source = source
        self.source_name = name
        found = operand_check.value_of(name, source)
        kind = operand_check.type_of(found)
        self.kind = TensorType(kind.dtype, found.shape, kind.encoding)
        # An array in the form for kernels, or one that shares its memory, is the same object at each call.
        shared = found is source or (isinstance(found, np.ndarray) and _shares_all(found, source))
        self._ready = found if shared or isinstance(source, int | float | complex | list | tuple) else None

    def value(self) -> Value:
        """Returns the data as an array or a tensor."""
        return operand_check.value_of(self.source_name, self.source) if self._ready is None else self._ready

    def array(self) -> Array:
        """Returns the data as an array."""
        found = self.value()
        return found.to_numpy() if isinstance(found, SparseTensor) else found


def _shares_all(found: Array, source: Any) -> bool:
    return isinstance(source, np.ndarray) and found.dtype == source.dtype and np.shares_memory(found, source)


class MadeOperand(DerivedOperand):
    """A defined tensor that another one reads as data.

    Args:
        tensor: the tensor.
    """

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.kind = tensor.type

    def value(self) -> Value:
        """Returns the tensor as data."""
        found: Value = self._tensor.made()
        return found


Sources = Mapping[str, SourceOperand]


class _OfIntegers:
    """What arrays of integers decide: it is computed again where they have changed.

    Args:
        formulas: what reads them.
        sources: the user's data.
    """

    def __init__(self, formulas: tuple[Expr, ...], sources: Sources) -> None:
        names = dict.fromkeys(access.tensor for one in formulas for access in reads(one) if access.subscripts)
        self._sources = {name: sources[name] for name in names if name in sources}
        self._seen: dict[str, Array] | None = None

    def arrays(self) -> dict[str, Array]:
        """Returns the arrays as they are now."""
        return {name: one.array() for name, one in self._sources.items()}

    def changed(self) -> bool:
        """Returns whether arrays are others than they were when this was asked last."""
        if self._seen is not None and all(
            np.array_equal(self._sources[name].array(), array) for name, array in self._seen.items()
        ):
            return False
        self._seen = {name: array.copy() for name, array in self.arrays().items()}
        return True


class FormulaOperand(DerivedOperand):
    """The integers of a formula.

    Args:
        guarded: the formula.
        extents: the extent of each variable.
        sources: the user's data.
    """

    def __init__(self, guarded: GuardedFormula, extents: Mapping[IndexVar, int], sources: Sources) -> None:
        self._guarded = guarded
        self._extents = extents
        self.kind = TensorType(INTEGER, tuple(extents[v] for v in guarded.formula.variables))
        self._of = _OfIntegers((guarded.formula.value, *guarded.guards), sources)
        self._array = np.zeros(0, dtype=np.int64)

    def value(self) -> Array:
        """Returns the integers."""
        if self._of.changed():
            self._array = integers_of(self._guarded.formula, self._extents, self._of.arrays(), self._guarded.guards)
        return self._array


class OnesOperand(DerivedOperand):
    """A vector of ones, which gives a variable its extent.

    Args:
        extent: the extent.
        dtype: the element type.
    """

    def __init__(self, extent: int, dtype: DType) -> None:
        self.kind = TensorType(dtype, (extent,))
        self._array = np.ones(extent, dtype=dtype.numpy)

    def value(self) -> Array:
        """Returns the ones."""
        return self._array


class SelectionOperand(DerivedOperand):
    """A sparse tensor with an entry of 1 in each row, at the column that a formula says.

    Args:
        selection: the selection.
        extents: the extent of each variable.
        sources: the user's data.
        dtype: the element type.
    """

    def __init__(self, selection: Selection, extents: Mapping[IndexVar, int], sources: Sources, dtype: DType) -> None:
        self._selection = selection
        self.digit = _digit(selection)
        self._extents = extents
        self._of = _OfIntegers((selection.formula.value,), sources)
        self._width = _width_of(selection.shape)
        self._encoding = _rows_of_entries(len(selection.shape), np.dtype(self._width).itemsize * 8)
        self._dtype = dtype
        self.kind = TensorType(dtype, selection.shape, self._encoding)
        self._tensor: SparseTensor | None = None

    def value(self) -> SparseTensor:
        """Returns the tensor.

        Raises:
            CoordinatesError: for a column out of range, where rows gather from a tensor.
        """
        changed = self._of.changed()
        if changed or self._tensor is None:
            self._tensor = self._made()
        return self._tensor

    def _made(self) -> SparseTensor:
        *rows, columns = self._selection.shape
        places = integers_of(self._selection.formula, self._extents, self._of.arrays()).ravel()
        inside = (places >= 0) & (places < columns)
        if self._selection.of and not inside.all():
            self._refuse(places, columns)
        counts = np.zeros(places.size + 1, dtype=np.int64)
        np.cumsum(inside, out=counts[1:])
        places = places[inside]
        values = np.ones(places.size, dtype=self._dtype.numpy)
        free = [None] * len(rows)
        counts, places = counts.astype(self._width), places.astype(self._width)
        return SparseTensor.from_levels(self._encoding, self._selection.shape, [*free, counts], [*free, places], values)

    def _refuse(self, places: Array, columns: int) -> None:
        row = int(np.flatnonzero((places < 0) | (places >= columns))[0])
        inside = f"0 to {columns - 1}" if columns else "of which there are none"
        raise CoordinatesError(
            f"expected {self._selection.formula.value} to be positions of {self._selection.of}, {inside} "
            f"(axis {self._selection.axis}), but got {places[row]} at ({row})"
        )


class PatternOperand(DerivedOperand):
    """A sparse tensor whose entries are elements of an array, where a condition holds.

    Args:
        pattern: the entries.
        formulas: by name, the formulas that subscripts are.
        extents: the extent of each variable.
        sources: the user's data.
        dtype: the element type.
    """

    def __init__(
        self,
        pattern: EntriesOfPattern,
        formulas: Mapping[str, IndexFormula],
        extents: Mapping[IndexVar, int],
        sources: Sources,
        dtype: DType,
    ) -> None:
        self._pattern, self._formulas, self._extents = pattern, formulas, extents
        self._source = sources[pattern.read.tensor]
        subscripts = [formulas[a.tensor].value for a in reads(pattern.read) if a.tensor in formulas]
        others = tuple(a for a in reads(pattern.read) if a.tensor not in formulas and a.tensor != pattern.read.tensor)
        self._of = _OfIntegers((pattern.condition.value, *subscripts, *others), sources)
        self._width = _width_of(pattern.shape)
        self._encoding = _rows_of_entries(len(pattern.shape), np.dtype(self._width).itemsize * 8)
        self._dtype = dtype
        self._in_order = False
        self._shared: Any = None
        self.kind = TensorType(dtype, pattern.shape, self._encoding)
        self._tensor: SparseTensor | None = None
        self._places = np.zeros(0, dtype=np.int64)

    def value(self) -> SparseTensor:
        """Returns the tensor with the elements that the array has now."""
        elements = self._source.array().reshape(-1)
        if self._of.changed() or self._tensor is None or (self._in_order and elements.base is not self._shared):
            self._tensor = self._made(elements)
        if not self._in_order:
            np.take(elements, self._places, out=self._tensor.storage.values)
        return self._tensor

    def _made(self, elements: Array) -> SparseTensor:
        """Returns the tensor: on the array itself, if its elements are the entries in their order."""
        arrays = {**self._of.arrays(), self._pattern.read.tensor: self._source.array()}
        rows, columns = np.nonzero(truth_of(self._pattern.condition, self._extents, arrays))
        places = dict(zip((v.name for v in self._pattern.condition.variables), (rows, columns), strict=True))
        self._places = element_at(self._pattern.read, places, arrays, self._formulas)
        counts = np.zeros(self._pattern.shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self._pattern.shape[0]), out=counts[1:])
        in_order = elements.size == columns.size and np.array_equal(self._places, np.arange(columns.size))
        self._in_order = in_order and elements.dtype == self._dtype.numpy
        self._shared = elements.base
        values = elements if self._in_order else np.zeros(columns.size, dtype=self._dtype.numpy)
        counts, columns = counts.astype(self._width), columns.astype(self._width)
        return SparseTensor.from_levels(self._encoding, self._pattern.shape, [None, counts], [None, columns], values)


def _width_of(shape: tuple[int, ...]) -> type[np.signedinteger[Any]]:
    return np.int32 if prod(shape) < _NARROW else np.int64


def _digit(selection: Selection) -> RadixDigit | None:
    rows, columns = selection.shape[0], selection.shape[-1]
    match selection.formula:
        case IndexFormula((_,), Call(function, (Access(_, ()), Literal(int(radix))))) if radix > 0:
            if function == "floor_divide" and rows == columns * radix:
                return RadixDigit(radix, True)
            if function == "remainder" and columns == radix and rows % radix == 0:
                return RadixDigit(radix, False)
    return None


def _rows_of_entries(rank: int, width: int) -> Encoding:
    """Returns the storage with an entry list in each row: CSR for a matrix."""
    names = [f"d{dim}" for dim in range(rank)]
    levels = [f"{name} : dense" for name in names[:-1]] + [f"{names[-1]} : compressed"]
    return encoding(f"({', '.join(names)}) -> ({', '.join(levels)})").with_widths(width, width)
