"""Arrays over named index variables, of which some are stored as coordinates.

`evaluator` computes with these. A Relation has, for each row of `coordinates` (one column for each of `sparse`), a
dense block over `dense`; elsewhere it is zero. A dense array is a Relation with one row and no sparse variables, so
that products, sums and reductions have one definition each. Only NumPy is used, and nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlir_sparse.classes import dataclass

__all__ = [
    "LIMIT",
    "Array",
    "Relation",
    "TooManyValues",
    "combine",
    "densify",
    "keys_of",
    "multiply",
    "reduce",
    "unpacked",
]

Array = NDArray[Any]

LIMIT = 1 << 24
"""The most values that one step may hold; above it TooManyValues is raised."""


class TooManyValues(Exception):  # noqa: N818 - a signal to split the work, not an error a user sees
    """Raised for a step that would need more than LIMIT values at once."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Values at coordinates of the `sparse` variables, dense over the `dense` ones.

    Args:
        sparse: names of the variables whose coordinates are stored.
        dense: names of the variables along axes 1, 2, ... of `values`.
        coordinates: int64[rows, len(sparse)], rows unique.
        values: [rows, extent of each dense variable].
    """

    sparse: tuple[str, ...]
    dense: tuple[str, ...]
    coordinates: Array
    values: Array

    @property
    def variables(self) -> frozenset[str]:
        """Returns the names of all variables."""
        return frozenset(self.sparse + self.dense)

    @staticmethod
    def of_dense(names: tuple[str, ...], array: Array) -> Relation:
        """Makes a Relation of an array with one axis a variable."""
        return Relation((), names, np.zeros((1, 0), np.int64), array[np.newaxis])

    def map(self, function: Callable[[Array], Array]) -> Relation:
        """Applies a function that maps zero to zero, or any function if nothing is sparse."""
        return Relation(self.sparse, self.dense, self.coordinates, function(self.values))


def multiply(left: Relation, right: Relation) -> Relation:
    """Joins two Relations on their shared variables and multiplies their values."""
    rows_left, rows_right = _join(left, right)
    sparse = tuple(dict.fromkeys(left.sparse + right.sparse))
    dense = tuple(name for name in dict.fromkeys(left.dense + right.dense) if name not in sparse)
    columns = [
        left.coordinates[rows_left, left.sparse.index(name)]
        if name in left.sparse
        else right.coordinates[rows_right, right.sparse.index(name)]
        for name in sparse
    ]
    coordinates = np.stack(columns, axis=1) if columns else np.zeros((1, 0), np.int64)
    at = dict(zip(sparse, columns, strict=True))
    extents = {n: e for side in (left, right) for n, e in zip(side.dense, side.values.shape[1:], strict=True)}
    _check_size(len(rows_left), *(extents[name] for name in dense))
    values = _align(left, rows_left, at, dense) * _align(right, rows_right, at, dense)
    return Relation(sparse, dense, coordinates, values)


def combine(function: Callable[..., Array], parts: list[Relation], extents: Mapping[str, int]) -> Relation:
    """Applies a function of several values wherever one of them is stored.

    The function must map zeros to zero, unless no part has sparse variables. Parts over different variables are made
    dense first.
    """
    if any(set(part.sparse) != set(parts[0].sparse) or part.variables != parts[0].variables for part in parts):
        names = tuple(dict.fromkeys(name for part in parts for name in part.sparse + part.dense))
        parts = [Relation.of_dense(names, densify(part, names, extents)) for part in parts]
    sparse, dense = parts[0].sparse, parts[0].dense
    keys = [keys_of(part, sparse, extents) for part in parts]
    union = np.unique(np.concatenate(keys))
    shape = (len(union), *(extents[name] for name in dense))
    _check_size(*shape)
    aligned = []
    for part, key in zip(parts, keys, strict=True):
        axes = [0, *(1 + part.dense.index(name) for name in dense)]
        full = np.zeros(shape, part.values.dtype)
        full[np.searchsorted(union, key)] = part.values.transpose(axes)
        aligned.append(full)
    return Relation(sparse, dense, unpacked(union, sparse, extents), function(*aligned))


def reduce(op: np.ufunc, names: frozenset[str], body: Relation, extents: Mapping[str, int]) -> Relation:
    """Reduces over variables; missing values are zeros."""
    axes = tuple(1 + axis for axis, name in enumerate(body.dense) if name in names)
    values = op.reduce(body.values, axis=axes) if axes else body.values
    dense = tuple(name for name in body.dense if name not in names)
    kept = tuple(name for name in body.sparse if name not in names)
    if kept == body.sparse:
        return Relation(kept, dense, body.coordinates, values)
    keys = keys_of(body, kept, extents)
    order = np.argsort(keys, kind="stable")
    groups, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    values = op.reduceat(values[order], starts, axis=0) if len(starts) else values[:0]
    if op is not np.add:
        total = int(np.prod([extents[name] for name in body.sparse if name in names], dtype=object))
        partial = (counts < total).reshape((-1,) + (1,) * len(dense))
        values = np.where(partial, op(values, np.zeros((), values.dtype)), values)
    return _with_a_row(Relation(kept, dense, unpacked(groups, kept, extents), values))


def densify(relation: Relation, names: tuple[str, ...], extents: Mapping[str, int]) -> Array:
    """Returns the array with an axis for each name, in order; it is repeated along variables that it lacks."""
    variables = relation.sparse + relation.dense
    _check_size(*(extents[name] for name in names))
    full = np.zeros([extents[name] for name in variables], relation.values.dtype)
    if relation.sparse:
        full[tuple(relation.coordinates.T)] = relation.values
    else:
        full[...] = relation.values[0]
    full = full.transpose([variables.index(name) for name in names if name in variables])
    for axis, name in enumerate(names):
        if name not in variables:
            full = np.expand_dims(full, axis)
    return np.broadcast_to(full, [extents[name] for name in names])


def _check_size(*extents: int) -> None:
    total = 1
    for extent in extents:
        total *= int(extent)
    if total > LIMIT:
        raise TooManyValues


def _with_a_row(relation: Relation) -> Relation:
    """Gives a Relation without sparse variables the one row of a dense array."""
    if relation.sparse or len(relation.values):
        return relation
    values = np.zeros((1, *relation.values.shape[1:]), relation.values.dtype)
    return Relation((), relation.dense, np.zeros((1, 0), np.int64), values)


def keys_of(relation: Relation, names: tuple[str, ...], extents: Mapping[str, int]) -> Array:
    """Numbers the coordinates of some variables, in their lexicographic order."""
    _check_key(names, extents)
    keys = np.zeros(len(relation.coordinates), np.int64)
    for name in names:
        keys = keys * extents[name] + relation.coordinates[:, relation.sparse.index(name)]
    return keys


def unpacked(keys: Array, names: tuple[str, ...], extents: Mapping[str, int]) -> Array:
    """Returns the coordinates of numbers from `keys_of`."""
    coordinates = np.zeros((len(keys), len(names)), np.int64)
    for column in range(len(names) - 1, -1, -1):
        keys, coordinates[:, column] = np.divmod(keys, extents[names[column]])
    return coordinates


def _check_key(names: tuple[str, ...], extents: Mapping[str, int]) -> None:
    total = 1
    for name in names:
        total *= int(extents[name])
    if total >= 1 << 63:
        raise TooManyValues


def _join(left: Relation, right: Relation) -> tuple[Array, Array]:
    """Pairs the rows that agree in all shared sparse variables."""
    shared = tuple(name for name in left.sparse if name in right.sparse)
    extents = {
        name: 1 + max(_largest(side.coordinates[:, side.sparse.index(name)]) for side in (left, right))
        for name in shared
    }
    keys_left, keys_right = keys_of(left, shared, extents), keys_of(right, shared, extents)
    order = np.argsort(keys_right, kind="stable")
    first = np.searchsorted(keys_right[order], keys_left, side="left")
    counts = np.searchsorted(keys_right[order], keys_left, side="right") - first
    total = int(counts.sum())
    _check_size(total)
    rows_left = np.repeat(np.arange(len(keys_left)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows_left, order[np.repeat(first, counts) + within]


def _largest(column: Array) -> int:
    return int(column.max()) if len(column) else 0


def _align(side: Relation, rows: Array, at: Mapping[str, Array], dense: tuple[str, ...]) -> Array:
    """Returns values as [rows, dense...]: gathers along dense variables that became sparse, and adds missing axes."""
    gathered = [name for name in side.dense if name in at]
    kept = [name for name in dense if name in side.dense]
    values = side.values.transpose([0, *(1 + side.dense.index(name) for name in gathered + kept)])
    values = values[(rows, *(at[name] for name in gathered))]
    shape = iter(values.shape[1:])
    aligned: Array = values.reshape([len(rows), *(next(shape) if name in side.dense else 1 for name in dense)])
    return aligned
