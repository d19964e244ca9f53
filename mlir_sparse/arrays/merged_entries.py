"""Elementwise functions of NumPy's, evaluated at the places where an operand has an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlir_sparse.arrays.broadcast import stretched
from mlir_sparse.arrays.entry_lists import EntryList, check_dense_fits, entries_of, with_values
from mlir_sparse.arrays.flat_places import Array, united
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.kept_entries import kept_entries
from mlir_sparse.tensor.stored_padding import is_given

__all__ = ["merged"]

# Python's numbers are passed unchanged, as their type is weak in NumPy.
Operand = Array | SparseTensor | complex
Function = Callable[..., Any]


def merged(
    function: Function, operands: Sequence[Operand], shape: tuple[int, ...], *, annihilated: bool = False
) -> Any:
    """Computes an elementwise function of operands, at least one of them sparse.

    Without dense operands the function is also evaluated once for missing entries. If that gives zero, the result is
    sparse, with entries wherever an operand has one. Otherwise, and with dense operands, the result is a dense array.

    Args:
        function: a function like a ufunc: its arguments are arrays of one shape, or numbers; it may return several
            arrays.
        operands: tensors and arrays that broadcast to the shape, and numbers.
        shape: the shape of the result.
        annihilated: whether a zero operand makes the result zero.
    """
    in_place = _over_values(function, operands, shape)
    if in_place is not None:
        return in_place
    places, aligned = _aligned(operands, shape)
    found = function(*aligned)
    like = next(o for o in operands if isinstance(o, SparseTensor))
    if annihilated:
        return _result(found, np.zeros(1, found.dtype), places, shape, like)
    with np.errstate(all="ignore"):  # values for missing entries are replaced in part
        missing = function(*(_missing(operand, shape) for operand in operands))
    if isinstance(found, tuple):
        return tuple(_result(f, m, places, shape, like) for f, m in zip(found, missing, strict=True))
    return _result(found, missing, places, shape, like)


def _over_values(function: Function, operands: Sequence[Operand], shape: tuple[int, ...]) -> SparseTensor | None:
    """Returns the result on an operand's structure, if it is the only one, zero stays zero, and no entry is False."""
    arrays = [o for o in operands if isinstance(o, SparseTensor) or (isinstance(o, np.ndarray) and o.shape != (1,))]
    if len(arrays) != 1 or not isinstance(tensor := arrays[0], SparseTensor) or tensor.shape != shape:
        return None
    with np.errstate(all="ignore"):
        missing = function(*(_missing(operand, shape) for operand in operands))
    if isinstance(missing, tuple) or not _is_zero(missing):
        return None
    stored = tensor.storage.values
    found = function(*(stored if o is tensor else o for o in operands))
    if found.dtype == np.bool_ and not found.all():
        return kept_entries(tensor, found, found)  # False need not be stored
    if tensor.encoding.has_padding and found.dtype.kind not in "biu":
        # Padding must be +0.0: -0.0 would be a value. Copy, as NumPy's result may be read-only, such as imaginary
        # parts.
        found = np.where(is_given(stored), found, found.dtype.type(0))
    return with_values(tensor, found)


def _missing(operand: Operand, shape: tuple[int, ...]) -> Any:
    # A vector of one element: in NumPy 1 a 0-d array is a weak number.
    return np.zeros(1, operand.dtype) if isinstance(operand, SparseTensor) else operand


def _aligned(operands: Sequence[Operand], shape: tuple[int, ...]) -> tuple[tuple[Array, ...], list[Any]]:
    """Returns the places where some tensor has an entry, and the operands' values at them."""
    sparse = [stretched(entries_of(o), shape) if isinstance(o, SparseTensor) else None for o in operands]
    found = [entries for entries in sparse if entries is not None]
    if len(found) == 1:
        places = found[0].dims
        return places, [_at(o, places) if e is None else e.values for o, e in zip(operands, sparse, strict=True)]
    places, where = united([entries.dims for entries in found], shape)
    spread = iter(_scattered(entries, at, places) for entries, at in zip(found, where, strict=True))
    return places, [_at(o, places) if e is None else next(spread) for o, e in zip(operands, sparse, strict=True)]


def _scattered(entries: EntryList, at: Array, places: tuple[Array, ...]) -> Array:
    values = np.zeros(places[0].size, entries.values.dtype)
    values[at] = entries.values
    return values


def _at(operand: Operand, places: tuple[Array, ...]) -> Any:
    """Returns the elements of a broadcast array at some places; a number stays a number."""
    if not isinstance(operand, np.ndarray) or operand.shape == (1,):
        return operand
    axes = zip(places[len(places) - operand.ndim :], operand.shape, strict=True)
    return operand[tuple(np.zeros_like(place) if size == 1 else place for place, size in axes)]


def _result(found: Array, missing: Array, places: tuple[Array, ...], shape: tuple[int, ...], like: SparseTensor) -> Any:
    if missing.shape == (1,) and _is_zero(missing):
        entries = EntryList(places, found, shape)
        # False need not be stored.
        return (entries.where(found) if found.dtype == np.bool_ else entries).tensor(like)
    check_dense_fits(shape, found.dtype)
    dense = np.empty(shape, found.dtype)
    dense[...] = missing[0] if missing.shape == (1,) else missing
    dense[places] = found
    return dense


def _is_zero(missing: Array) -> bool:
    return missing.shape == (1,) and bool(missing[0] == 0)
