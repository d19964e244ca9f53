"""A caller's arrays as arrays that native code can read: any integers, strides and byte order are accepted.

Arguments are never written to. A copy is made only where the layout differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from mlir_sparse.dtypes import DType, is_numeric
from mlir_sparse.errors import DTypeError, OperandError, RankError, WidthError
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.widths import width_dtype, width_limit

__all__ = [
    "Casting",
    "at_least_32_bits",
    "cast_values",
    "check_cast",
    "index_array",
    "index_columns",
    "stored_integers",
    "value_array",
]

_COLUMNS = (np.dtype(np.int32), np.dtype(np.int64))
Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


def index_array(given: object, what: str) -> Array:
    """Returns integers as a vector in native byte order, with their original width; `what` is their name in messages.

    Raises:
        DTypeError: for anything but integers.
        RankError: for more or less than one axis.
    """
    array = array_of(given, f"{what} of integers")
    if array.size == 0 and array.dtype.kind == "f" and not isinstance(given, np.ndarray):
        array = array.astype(np.int64)  # [] is an array of floats to NumPy
    if array.dtype.kind not in "iu":
        raise DTypeError(f"expected {what} of integers, but got {array.dtype}: convert with astype('int64')")
    if array.ndim != 1:
        raise RankError(f"expected {what} of one axis, but got shape {array.shape}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def index_columns(given: Sequence[object], what: str) -> list[Array]:
    """Returns coordinate arrays as native packing reads them: contiguous, aligned, all int32 or all int64."""
    if _are_columns(given):
        return list(given)  # type: ignore[arg-type]  # they are arrays
    arrays = [index_array(column, f"{what}[{d}]") for d, column in enumerate(given)]
    narrow = all(a.dtype.itemsize < 4 or a.dtype == np.int32 for a in arrays)
    dtype = np.dtype(np.int32 if narrow else np.int64)
    for d, array in enumerate(arrays):
        if array.dtype == np.uint64 and array.size and int(array.max()) > width_limit(64):
            raise WidthError(f"expected {what}[{d}] of at most 2^63 - 1, but got {int(array.max())}")
    return [np.require(array, dtype, ["C", "A"]) for array in arrays]


def _are_columns(given: Sequence[object]) -> bool:
    """Returns whether coordinates are as native packing reads them already."""
    kind = getattr(given[0], "dtype", None) if given else None
    if kind not in _COLUMNS:
        return False
    for one in given:
        if type(one) is not np.ndarray or one.dtype != kind or one.ndim != 1:
            return False
        flags = one.flags
        if not (flags.c_contiguous and flags.aligned):
            return False
    return True


def stored_integers(given: object, width: int, key: str, what: str) -> Array:
    """Returns positions or coordinates in their stored form, sharing memory where width and layout agree.

    Args:
        given: an array or sequence of integers, signed or unsigned.
        width: bits to store each in.
        key: `posWidth` or `crdWidth`.
        what: their name in messages.

    Raises:
        WidthError: for a number that does not fit.
    """
    array = index_array(given, what)
    target = width_dtype(width)
    if array.dtype == target:
        return _aligned(array)
    fits = array.dtype.itemsize < target.itemsize and (array.dtype.kind == "i" or target.itemsize > 2)
    if array.size and not fits:
        # Signed and unsigned arrays of the same width have equal bits unless a number is in the upper half of the
        # range.
        low, high = int(array.min()), int(array.max())
        if (low < 0 and target.kind == "u") or not -1 <= max(low, -1) <= high <= width_limit(width):
            rule = f"expected {what} from 0 to {width_limit(width)} for {key} = {width}"
            raise WidthError(f"{rule}, but got {low if low < 0 else high}")
    if array.dtype.itemsize == target.itemsize:
        return _aligned(array.view(target))
    return _aligned(array.astype(target))


def at_least_32_bits(array: Array) -> Array:
    """Returns positions or coordinates, signed or unsigned, in 32 or 64 bits, which native conversions read."""
    return array if array.itemsize >= 4 else array.astype(np.int32)


def _aligned(array: Array) -> Array:
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.array(array, order="C")


def value_array(given: object, dtype: object = None) -> tuple[Array, DType]:
    """Returns contiguous values in native byte order, with their element type.

    Args:
        given: an array or sequence of numbers.
        dtype: the element type to convert to; that of the values when None.

    Raises:
        DTypeError: for a type that sparse tensors cannot have.
    """
    array = array_of(given, "values that are numbers")
    if dtype is None and array.dtype.kind == "i" and isinstance(given, int | list | tuple | range):
        array = array.astype(np.int64)  # numbers of Python
    if dtype is not None:
        array = cast_values(array, DType.of(dtype))  # type: ignore[arg-type]  # DType.of refuses what it does not know
    kind = DType.of(array.dtype)
    if array.dtype != kind.numpy:
        array = array.astype(kind.numpy)  # other byte order
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return _zeros_and_ones(array), kind


def _zeros_and_ones(array: Array) -> Array:
    """Returns truth values as bytes 0 and 1, which a view of other integers may not be; other values unchanged."""
    if array.dtype != np.bool_ or array.view(np.uint8).max(initial=0) <= 1:
        return array
    found: Array = array.view(np.uint8) != 0
    return found


def check_cast(given: DType, wanted: DType, casting: Casting) -> None:
    """Refuses a cast that a rule of `numpy.can_cast` does not allow.

    Raises:
        DTypeError: with the rule.
        OperandError: for a rule that there is none of.
    """
    if casting not in get_args(Casting):
        raise OperandError(f"expected casting= one of {', '.join(get_args(Casting))}, but got {casting!r}")
    if casting != "unsafe" and not np.can_cast(given.numpy, wanted.numpy, casting):
        raise DTypeError(f"expected a cast that casting={casting!r} allows, but got {given} to {wanted}")


def cast_values(array: Array, dtype: DType) -> Array:
    """Returns the values as another element type; the same array if they have it already.

    A truth value says whether a number is nonzero; NaN is.

    Raises:
        DTypeError: for complex values as real ones, and for values that are no numbers.
    """
    target = dtype.numpy
    if array.dtype == target:
        return array
    if not is_numeric(array.dtype):
        raise DTypeError(f"expected numbers to store as {dtype}, but got {array.dtype}")
    if array.dtype.kind == "c" and not (dtype.is_truth or dtype.is_complex):
        raise DTypeError(f"expected real values for {dtype}, but got {array.dtype}: take .real or abs() first")
    if array.dtype.itemsize == 1 and DType.of(array.dtype).is_storage:
        return _numbers_of_bytes(array.dtype, target).take(array.view(np.uint8))  # in half the time of `astype`
    result: np.ndarray[Any, Any] = array.astype(target)
    return result


@lru_cache(maxsize=64)
def _numbers_of_bytes(source: np.dtype[Any], target: np.dtype[Any]) -> Array:
    """Returns the numbers of all 256 bytes, of a type of 8 bits, in another type."""
    with np.errstate(all="ignore"):
        return np.arange(256, dtype=np.uint8).view(source).astype(target)
