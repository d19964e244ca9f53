"""Rows of arrays, and rows and columns of sparse matrices, taken at places that an array has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import CoordinatesError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.program import Gathered, IndexSum, Pick, Place
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.matrix_lines import diagonal_entries, line_order, lines_at
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.shifted_names import shifted_gather_of

__all__ = ["check_range", "diagonal_of_matrix", "lines_of_matrix", "repeated_rows", "rows_of_array", "taken_shape"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


def check_range(name: str, axis: int, size: int, place: Gathered, array: Array) -> None:
    """Raises unless all places are positions along an axis.

    Args:
        name: the tensor that is gathered from.
        axis: the axis.
        size: its extent.
        place: the subscript.
        array: its places.

    Raises:
        CoordinatesError: with the first place that is none.
    """
    wrong = (array < 0) | (array >= size)
    if not wrong.any():
        return
    where = np.unravel_index(int(np.argmax(wrong)), array.shape)
    at = ", ".join(str(int(c)) for c in where)
    # A part of a rewritten statement has a name that no text has.
    of = "positions" if "." in name else f"positions of {name}"
    places = shifted_gather_of(place.tensor) or place.tensor
    raise CoordinatesError(
        f"expected {places} to hold {of}, 0 to {size - 1} (axis {axis}), but got {array[where]} at ({at})"
    )


def rows_of_array(
    value: Array, name: str, places: Sequence[Place], arrays: Mapping[str, Array], out: Array | None
) -> Array | None:
    """Returns the elements of an array that is gathered along its first axis alone; None for other subscripts.

    Args:
        value: the array, contiguous.
        name: its name in errors.
        places: a subscript for each dimension.
        arrays: the tensors of the gathered subscripts.
        out: a contiguous array for the result; a new one when absent.

    Raises:
        CoordinatesError: for a place that is no row.
    """
    if not _takes_rows(places):
        return None
    place = places[0]
    assert isinstance(place, Gathered)
    given = arrays[place.tensor]
    array = _signed(given)
    shape = (*array.shape, *value.shape[1:])
    if out is None:
        check_fits(math.prod(shape) * value.itemsize, f"elements of {name} gathered over a shape of {shape}")
        out = np.empty(shape, value.dtype)
    if _native.take_rows(np.ascontiguousarray(value), array, out) >= 0:
        check_range(name, 0, value.shape[0], place, given)
    return out


def taken_shape(step: Pick, extents: Mapping[str, int]) -> tuple[int, ...] | None:
    """Returns the shape of what a step takes, whole rows of an array at places; None where it takes something else."""
    place = step.places[0] if step.encoding is None and _takes_rows(step.places) else None
    if not isinstance(place, Gathered) or not place.variables:
        return None
    variables = (*place.variables, *(v for other in step.places[1:] for v in _variables(other)))
    return tuple(extents[v] for v in variables) if extents.keys() >= {*variables} else None


def repeated_rows(step: Pick, extents: Mapping[str, int]) -> Callable[[Mapping[str, Value]], Value] | None:
    """Returns what takes rows of an array again for the same extents; None for a step that takes something else."""
    shape, place = taken_shape(step, extents), step.places[0]
    if shape is None:
        return None
    assert isinstance(place, Gathered)
    name, places, result = step.operand, place.tensor, step.result

    def run(values: Mapping[str, Value]) -> Value:
        value, array, out = values[name], values[places], values.get(result)
        assert isinstance(value, np.ndarray)
        assert isinstance(array, np.ndarray)
        if out is None:
            check_fits(math.prod(shape) * value.itemsize, f"elements of {name} gathered over a shape of {shape}")
            out = np.empty(shape, value.dtype)
        assert isinstance(out, np.ndarray)
        if _native.take_rows(value, _signed(array), out) >= 0:
            check_range(name, 0, value.shape[0], place, array)
        return out

    return run


def _variables(place: Place) -> Iterator[str]:
    if isinstance(place, IndexSum):
        yield from (variable for _, variable in place.terms)


def _takes_rows(places: Sequence[Place]) -> bool:
    """Returns whether of an array whole rows are taken: its first axis alone is gathered along."""
    match places:
        case [Gathered(variables=variables), *rest]:
            return _are_axes(rest, variables)
        case _:
            return False


def _are_axes(places: Sequence[Place], others: Sequence[str]) -> bool:
    """Returns whether subscripts are variables, no one twice or among others."""
    names = list(others)
    for place in places:
        match place:
            case IndexSum(((1, name),), 0):
                names.append(name)
            case _:
                return False
    return len(set(names)) == len(names)


def _signed(array: Array) -> Array:
    """Returns places as contiguous integers with a sign; those beyond are negative, and no places either."""
    return np.ascontiguousarray(array, dtype=array.dtype if array.dtype.kind == "i" else np.int64)


def lines_of_matrix(
    value: SparseTensor, name: str, places: Sequence[Place], arrays: Mapping[str, Array], storage: Encoding
) -> SparseTensor | None:
    """Returns a sparse matrix of which rows, columns or both are gathered; None for other tensors and subscripts.

    Args:
        value: the matrix.
        name: its name in errors.
        places: a subscript for each dimension.
        arrays: the tensors of the gathered subscripts.
        storage: the encoding of the result.

    Raises:
        CoordinatesError: for a place that is no row, or no column.
    """
    variables = [_line_variable(place) for place in places]
    if len(places) != 2 or len({*variables, ""}) != 3 or not is_plain(value.encoding):
        return None
    for axis, place in enumerate(places):
        if isinstance(place, Gathered):
            check_range(name, axis, value.shape[axis], place, arrays[place.tensor])
    for axis, place in enumerate(places):
        if isinstance(place, Gathered):
            if line_order(value.encoding) is None:
                value = value.convert("CSC" if axis else "CSR")
            value = lines_at(value, axis, _signed(arrays[place.tensor]).astype(np.int64))
    return value.convert(storage)


def diagonal_of_matrix(
    value: SparseTensor, places: Sequence[Place], extents: Mapping[str, int], storage: Encoding
) -> SparseTensor | None:
    """Returns a diagonal of a sparse matrix whose lines are found by number; None for other tensors and subscripts.

    Args:
        value: the matrix.
        places: a subscript for each dimension.
        extents: the extent of each variable.
        storage: the encoding of the result.

    >>> from mlir_sparse.encoding import encoding
    >>> matrix = tensor([[1.0, 2.0], [0.0, 3.0]], "CSR")
    >>> along = IndexSum(((1, "i"),))
    >>> diagonal_of_matrix(matrix, [along, along], {"i": 2}, encoding("SparseVector")).to_numpy().tolist()
    [1.0, 3.0]
    """
    match places:
        case [IndexSum(((1, one),), low), IndexSum(((1, other),), right)] if one == other:
            if line_order(value.encoding) is None:
                return None
        case _:
            return None
    rows, columns = value.shape
    first = max(0, -low, -right)
    count = max(0, min(extents[one], rows - low, columns - right) - first)
    if not count:
        return tensor(((np.zeros(0, np.int64),), value.storage.values[:0]), storage, shape=(extents[one],))
    along, values = diagonal_entries(value, first + low, first + right, count)
    return tensor(((along + first,), values), storage, shape=(extents[one],))


def _line_variable(place: Place) -> str:
    """Returns the variable of a subscript, gathered or not; "" for others."""
    match place:
        case Gathered(variables=(name,)) | IndexSum(((1, name),), 0):
            return name
        case _:
            return ""
