"""Results of all libraries in one form, for comparison."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.entries import Coordinates, DoublyCompressed, Ell, Fibers

__all__ = ["Entries", "absolute", "error_between", "nbytes", "plain"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Entries:
    """A sparse result by entries.

    Args:
        keys: row-major indices, sorted; rows of zeros are left out.
        values: a number or a row of numbers for each.
    """

    keys: Array
    values: Array


def plain(result: Any) -> Array | Entries:
    """Returns an array for a dense result or a number, and Entries for a sparse one in any storage."""
    match result:
        case Entries():
            return _kept(result.keys, result.values)
        case Coordinates():
            return _kept(np.ravel_multi_index(tuple(result.coords.T), result.shape), result.values)
        case Fibers():
            roots = np.repeat(result.crd[0], np.diff(result.pos[0]))
            lines = roots.astype(np.int64) * result.shape[1] + result.crd[1]
            return _kept(np.repeat(lines, np.diff(result.pos[1])) * result.shape[2] + result.crd[2], result.values)
    if not scipy.sparse.issparse(result):
        return np.asarray(result)
    found = result.tocoo()
    return _kept(np.ravel_multi_index(found.coords, found.shape), found.data)


def _kept(keys: Array, values: Array) -> Entries:
    if keys.size and not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
    there = values != 0 if values.ndim == 1 else values.any(1)
    return Entries(keys[there], values[there])


def error_between(found: Array | Entries, expected: Array | Entries, scale: Array | Entries) -> float:
    """Returns the largest error relative to the sum of the terms' absolute values; infinity for different structures.

    A library may return a sparse result as an array, and the other way round.

    A place whose scale is zero must be exact.
    """
    if not isinstance(expected, Entries):
        dense = _dense(found, expected.shape) if isinstance(found, Entries) else found
        return _largest(_difference(dense, expected), scale) if dense.shape == expected.shape else float("inf")
    if not isinstance(found, Entries):
        found = _kept(np.flatnonzero(found), found[found != 0])  # row-major, as keys are
    if not np.array_equal(found.keys, expected.keys):
        return float("inf")
    assert isinstance(scale, Entries)
    return _largest(found.values - expected.values, scale.values[np.searchsorted(scale.keys, expected.keys)])


def _dense(entries: Entries, shape: tuple[int, ...]) -> Array:
    filled = np.zeros(shape)
    filled.flat[entries.keys] = entries.values
    return filled


def _difference(found: Array, expected: Array) -> Array:
    """Returns what one is off; infinities of one sign are equal."""
    with np.errstate(invalid="ignore"):
        return np.where(found == expected, 0, found - expected)


def _largest(error: Array, scale: Any) -> float:
    error, scale = np.abs(error).astype(float), np.asarray(scale, float)
    largest = scale.max(initial=0.0)
    return float(np.max(error / np.maximum(scale, np.finfo(float).tiny * max(largest, 1.0)), initial=0.0))


def absolute(operand: Any) -> Any:
    """Returns an operand of the absolute values."""
    if isinstance(operand, (Coordinates, DoublyCompressed, Ell, Fibers)):
        return replace(operand, values=abs(operand.values))
    if not scipy.sparse.issparse(operand):
        return abs(operand)
    # Not by SciPy: its abs of a COO array sorts that array itself, and it copies no f16.
    made = copy.copy(operand)
    made.data = abs(operand.data)
    return made


def nbytes(value: Any) -> int:
    """Returns the bytes of an operand's or a result's arrays."""
    match value:
        case np.ndarray():
            return value.nbytes
        case tuple() | list():
            return sum(map(nbytes, value))
    if is_dataclass(value):
        return sum(nbytes(getattr(value, field.name)) for field in fields(value))
    names = ("data", "indices", "indptr", "offsets", "row", "col")
    return sum(nbytes(getattr(value, name)) for name in names if isinstance(getattr(value, name, None), np.ndarray))
