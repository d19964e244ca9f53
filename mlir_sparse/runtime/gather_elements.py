"""Gathers of tensor elements, and diagonals and strided parts of sparse tensors.

`X(I(i,j), k)` becomes a new array or tensor over i, j and k. A sparse X gives a sparse result: an entry of X goes to
every place whose subscripts give its coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlir_sparse.encoding import Encoding
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.program import Gathered, IndexSum, Place
from mlir_sparse.runtime.take_lines import check_range, diagonal_of_matrix, lines_of_matrix, rows_of_array
from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.matched_keys import matched_keys
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["pick_elements"]

Array = np.ndarray[Any, Any]


def pick_elements(
    value: Array | SparseTensor,
    name: str,
    places: Sequence[Place],
    arrays: Mapping[str, Array],
    extents: Mapping[str, int],
    encoding: Encoding | None,
    out: Array | None = None,
) -> Array | SparseTensor:
    """Returns a tensor over the variables of its subscripts, in their order.

    Args:
        value: the tensor; a subscript of a sparse one has at most one variable.
        name: its name in errors.
        places: a subscript for each dimension.
        arrays: the tensors of the gathered subscripts.
        extents: the extent of each variable.
        encoding: the encoding of the result; None for an array: if the value is one, or there are no variables.
        out: a contiguous array for the result; a new one when absent.

    Raises:
        CoordinatesError: for an element of a subscript out of range, with its place and value.

    >>> pick_elements(np.array([5.0, 6.0, 7.0]), "x", [Gathered("I", ("i",))], {"I": np.array([2, 0])}, {"i": 2}, None)
    array([7., 5.])
    """
    taken: Array | SparseTensor | None = None
    if not isinstance(value, SparseTensor):
        taken = rows_of_array(value, name, places, arrays, out)
    elif encoding is not None:
        taken = diagonal_of_matrix(value, places, extents, encoding)
        taken = lines_of_matrix(value, name, places, arrays, encoding) if taken is None else taken
    if taken is not None:
        return taken
    for axis, place in enumerate(places):
        if isinstance(place, Gathered):
            check_range(name, axis, value.shape[axis], place, arrays[place.tensor])
    variables = tuple(dict.fromkeys(v for place in places for v in _variables(place)))
    if isinstance(value, SparseTensor):
        return _of_entries(value, places, arrays, {v: extents[v] for v in variables}, encoding)
    axes = {variable: axis for axis, variable in enumerate(variables)}
    at = tuple(_coordinates(place, arrays, extents, axes) for place in places)
    shape = tuple(extents[variable] for variable in variables)
    check_fits(math.prod(shape) * value.itemsize, f"elements of {name} gathered over a shape of {shape}")
    if out is None:
        return np.array(np.broadcast_to(value[at], shape), order="C")
    out[...] = value[at]
    return out


def _variables(place: Place) -> tuple[str, ...]:
    return place.variables if isinstance(place, Gathered) else tuple(variable for _, variable in place.terms)


def _coordinates(
    place: Place, arrays: Mapping[str, Array], extents: Mapping[str, int], axes: Mapping[str, int]
) -> Array:
    """Returns the values of a subscript as an array with an axis for each variable."""
    if isinstance(place, Gathered):
        order = np.argsort([axes[variable] for variable in place.variables], kind="stable")
        shape = [1] * len(axes)
        for variable in place.variables:
            shape[axes[variable]] = extents[variable]
        return arrays[place.tensor].transpose(order).reshape(shape).astype(np.intp)
    total = np.full([1] * len(axes), place.constant, np.intp)
    for coefficient, variable in place.terms:
        shape = [1] * len(axes)
        shape[axes[variable]] = extents[variable]
        total = total + coefficient * np.arange(extents[variable]).reshape(shape)
    return total


def _of_entries(
    value: SparseTensor,
    places: Sequence[Place],
    arrays: Mapping[str, Array],
    extents: Mapping[str, int],
    encoding: Encoding | None,
) -> Array | SparseTensor:
    """Returns the selected entries of a sparse tensor; as an array if there are no variables."""
    coordinates, values = value.to_coo()
    gathered = tuple(dict.fromkeys(v for p in places if isinstance(p, Gathered) for v in p.variables))
    columns: dict[str, Array] = {}
    keep = np.ones(len(values), bool)
    joined: list[int] = []  # the axes with gathered subscripts
    for axis, place in enumerate(places):
        if isinstance(place, Gathered) or set(_variables(place)) & set(gathered):
            joined.append(axis)
        else:
            _solve(place, coordinates[axis].astype(np.int64), extents, columns, keep)
    columns = {variable: column[keep] for variable, column in columns.items()}
    coordinates, values = coordinates[:, keep], values[keep]
    if joined:
        grid = {variable: axis for axis, variable in enumerate(gathered)}
        shape = tuple(extents[variable] for variable in gathered)
        wanted = [np.broadcast_to(_coordinates(places[a], arrays, extents, grid), shape).ravel() for a in joined]
        sizes = [value.shape[axis] for axis in joined]
        rows, points = matched_keys(*_keys([coordinates[axis] for axis in joined], wanted, sizes), math.prod(sizes))
        check_fits(len(rows) * 8 * (len(extents) + 1), "the entries gathered")
        columns = {variable: column[rows] for variable, column in columns.items()}
        columns |= dict(zip(gathered, np.unravel_index(points, shape), strict=True))
        values = values[rows]
    if encoding is None:
        return np.asarray(values.sum(dtype=values.dtype))
    pair = tuple(columns[variable] for variable in extents), values
    return tensor(pair, encoding, shape=tuple(extents.values()))


def _solve(place: IndexSum, column: Array, extents: Mapping[str, int], columns: dict[str, Array], keep: Array) -> None:
    """Solves a sum for its variable at each entry's coordinate; drops entries without a solution."""
    if not place.terms:
        keep &= column == place.constant
        return
    ((coefficient, variable),) = place.terms
    found = column - place.constant if place.constant else column
    if coefficient != 1:
        found, rest = np.divmod(found, coefficient)
        keep &= rest == 0
    keep &= (found >= 0) & (found < extents[variable])
    known = columns.setdefault(variable, found)
    if known is not found:
        keep &= known == found


def _keys(have: Sequence[Array], want: Sequence[Array], sizes: Sequence[int]) -> tuple[Array, Array]:
    """Numbers the coordinates of both alike, with ranks where row-major indices would exceed 64 bits."""
    number = np.zeros(len(have[0]) + len(want[0]), np.int64)
    total = 1
    for left, right, size in zip(have, want, sizes, strict=True):
        if total * size >= 1 << 63:
            number = np.unique(number, return_inverse=True)[1].reshape(-1)
            total = len(number)
        number = number * size + np.concatenate([left, right]).astype(np.int64)
        total *= size
    return number[: len(have[0])], number[len(have[0]) :]
