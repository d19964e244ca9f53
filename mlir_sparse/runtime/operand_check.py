"""Checks operands of kernels, and converts them where that loses nothing."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import DimSlice, Encoding, TensorType
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.errors import DTypeError, OperandError, RankError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.virtual_tensor import VirtualTensor

__all__ = [
    "as_argument",
    "as_output",
    "as_structure",
    "check_storage",
    "check_structure",
    "is_apart",
    "is_ready",
    "named_with_tensors",
    "type_of",
    "value_of",
    "with_tensors",
]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor
_OURS = frozenset((np.ndarray, SparseTensor, float, int, complex))


def value_of(name: str, source: object) -> Value:
    """Returns an operand as an array or a tensor: other libraries' sparse arrays become tensors, all else NumPy arrays.

    Memory is shared with PyTorch's tensors and arrays that speak DLPack (see `as_host`).

    Raises:
        OperandError: for other objects, and for data on a device.
        DTypeError: for an element type that the dialect lacks.
    """
    if isinstance(source, SparseTensor):
        return source
    if isinstance(source, VirtualTensor):
        return value_of(name, source.made())
    if type(source) is not np.ndarray and is_sparse_source(source):
        return tensor_with_zeros(source, name)
    if isinstance(getattr(source, "_meta", None), SparseTensor):  # NumPy would compute it, and make it dense
        raise OperandError(
            f"expected data in memory for {name}, but got a dask.array of tensors: call its compute() before, or leave "
            "the statement to ms.evaluate or to functions of dask.array, which give dask.arrays"
        )
    if hasattr(type(source), "nbytes_between"):  # a TensorSource, which only streams load
        raise OperandError(
            f"expected data in memory for {name}, but got {source!r}, which is read in parts: leave the statement to "
            "ms.stream, or read all of it before"
        )
    return _native_array(name, array_of(source, f"an array or tensor of numbers for {name}"))


def with_tensors(operands: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Returns operands with other libraries' sparse arrays as tensors; None where there are none.

    Raises:
        SparseError: for data that `tensor` refuses.
    """
    foreign = [type(one) not in _OURS and is_sparse_source(one) for one in operands]
    if not any(foreign):
        return None
    pairs = zip(operands, foreign, strict=True)
    return tuple([tensor_with_zeros(one, "an operand") if is_foreign else one for one, is_foreign in pairs])


def named_with_tensors(named: dict[str, Any]) -> dict[str, Any]:
    """Returns operands by name, those of other libraries that are sparse as tensors."""
    converted = with_tensors(tuple(named.values()))
    return named if converted is None else dict(zip(named, converted, strict=True))


def _native_array(name: str, array: Array) -> Array:
    """Returns the array in the form for kernels: native byte order, C order, aligned, of the dialect's types."""
    try:
        dtype = DType.of(array.dtype.newbyteorder("=")).numpy
    except DTypeError as error:
        raise DTypeError(f"{error.message} (operand {name})") from None
    flags = array.flags
    if type(array) is np.ndarray and array.dtype is dtype and flags.c_contiguous and flags.aligned:
        return array  # as it is: `require` takes as long as all else of a call's look at an operand
    return np.require(np.asarray(array, dtype=dtype, order="C"), requirements=["C", "A"])


def type_of(value: Value) -> TensorType:
    """Returns the type of a value, with any shape."""
    if isinstance(value, SparseTensor):
        return value.type
    return TensorType(DType.of(value.dtype), (None,) * value.ndim)


def as_argument(name: str, source: object, kind: TensorType) -> Value:
    """Returns an operand as a value of a kernel's type.

    Python numbers and lists are converted to the kernel's element type; arrays and tensors must have it.

    Raises:
        OperandError: for dense data in place of sparse, the reverse, or another storage.
        DTypeError: for another element type.
        RankError: for another number of dimensions.
    """
    value = value_of(name, source)
    wanted, got = kind.dtype, type_of(value)
    if got.rank != kind.rank:
        raise RankError(f"expected {name} of {kind.rank} dimensions, but got {got.rank} (shape {value.shape})")
    if got.dtype != wanted and isinstance(value, np.ndarray) and is_weak(source):
        value = _weakly(name, value, wanted)
        got = type_of(value)
    if got.dtype != wanted:
        raise DTypeError(
            f"expected {wanted} for {name}, but got {got.dtype}: pass {name}.astype({wanted.numpy.name!r}), "
            f"or compile for {got.dtype}"
        )
    check_storage(name, got, kind)
    return value


def _weakly(name: str, value: Array, wanted: DType) -> Array:
    """Returns Python's numbers in an element type with their range; real and complex types round.

    Raises:
        DTypeError: for numbers out of its range.
    """
    whole = wanted.is_exact
    real = value.dtype.kind != "c" or wanted.is_complex
    if real:
        with np.errstate(invalid="ignore"):  # of fractional or infinite numbers
            found = value.astype(wanted.numpy)
        if not whole or np.array_equal(found, value):
            return found
    raise DTypeError(f"expected numbers that {wanted} holds for {name}, but got {value.tolist()}")


def is_weak(source: object) -> bool:
    """Returns whether an operand takes the kernel's element type: Python's numbers and lists."""
    return isinstance(source, (numbers.Number, list, tuple)) and not isinstance(source, np.generic)


def check_storage(name: str, got: TensorType, kind: TensorType) -> None:
    """Raises OperandError for an operand whose storage is not the kernel's."""
    if kind.encoding is None and got.encoding is None:
        return
    if kind.encoding is None:
        raise OperandError(
            f"expected a dense array for {name}, but got a tensor stored as {got}: "
            f"pass {name}.to_numpy(), or compile for its encoding"
        )
    wanted = kind.encoding.to_text()
    if got.encoding is None:
        raise OperandError(
            f"expected {name} stored as {kind}, but got a dense array: pass ms.tensor({name}, {wanted!r})"
        )
    if not _agrees(kind.encoding, got.encoding):
        raise OperandError(
            f"expected {name} stored as {kind}, but got {got}: pass {name}.convert({wanted!r}), or compile for it"
        )


def _agrees(declared: Encoding, actual: Encoding) -> bool:
    """Returns whether a tensor has the declared storage; widths, slots and slices that it leaves open may be any."""
    open_slots = any((slots := slots_of(level)) is not None and slots.width is None for level in declared.levels)
    widths = [slots.width for level in actual.levels if (slots := slots_of(level)) is not None and slots.width]
    wanted = declared.with_slots(widths[0]) if open_slots and widths else declared
    slices = _known_slices(declared, actual)
    return replace(wanted, slices=slices) == actual.with_widths(
        actual.pos_width if declared.pos_width else 0, actual.crd_width if declared.crd_width else 0
    )


def _known_slices(declared: Encoding, actual: Encoding) -> tuple[DimSlice | None, ...]:
    """Returns the declared slices, with the tensor's numbers for each `?`."""
    if len(declared.slices) != len(actual.slices):
        return declared.slices
    found = []
    for given, known in zip(declared.slices, actual.slices, strict=True):
        a, b = given or DimSlice(), known or DimSlice()
        parts = ((a.offset, b.offset), (a.size, b.size), (a.stride, b.stride))
        found.append(DimSlice(*(there if here is None else here for here, there in parts)))
    return tuple(found)


def as_output(out: object, kind: TensorType) -> Array:
    """Checks the array for a dense result.

    Raises:
        OperandError: for anything except a writeable array.
        DTypeError, RankError: for another element type or number of dimensions.
    """
    if kind.encoding is not None:
        raise OperandError(
            f"expected no out= for a result stored as {kind}, but got {type(out).__name__}: "
            f"sparse results are new tensors"
        )
    if not isinstance(out, np.ndarray):
        raise OperandError(f"expected a NumPy array for out, but got {type(out).__name__}")
    if out.ndim != kind.rank:
        raise RankError(f"expected out of {kind.rank} dimensions, but got {out.ndim} (shape {out.shape})")
    if out.dtype.newbyteorder("=") != kind.dtype.numpy:
        raise DTypeError(f"expected out of dtype {kind.dtype.numpy.name}, but got {out.dtype}")
    if isinstance(out, np.ma.MaskedArray):
        raise OperandError("expected a NumPy array for out, but got a masked one: pass out.data")
    if not out.flags.writeable:
        raise OperandError("expected a writeable array for out, but got a read-only one")
    if _overlaps_itself(out):
        raise OperandError(
            f"expected an array for out whose elements are apart in memory, but got strides {out.strides} "
            f"for shape {out.shape}: pass a copy"
        )
    return out


def _overlaps_itself(array: Array) -> bool:
    """Returns whether elements share memory, as in broadcast arrays and sliding windows."""
    covered = array.itemsize
    for stride, extent in sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True)):
        if extent > 1 and stride < covered:
            return array.size > 1
        covered += stride * (extent - 1)
    return False


def as_structure(out: object, kind: TensorType) -> SparseTensor:
    """Checks the tensor for the values of a sparse result.

    Raises:
        OperandError: for anything except a tensor with writeable values.
        DTypeError, RankError: for another element type or number of dimensions.
    """
    if not isinstance(out, SparseTensor):
        raise OperandError(f"expected a SparseTensor for out, but got {type(out).__name__}: assemble makes one")
    if out.ndim != kind.rank:
        raise RankError(f"expected out of {kind.rank} dimensions, but got {out.ndim} (shape {out.shape})")
    if DType.of(out.dtype) != kind.dtype:
        raise DTypeError(f"expected out of dtype {kind.dtype.numpy.name}, but got {out.dtype}: assemble makes one")
    if not out.storage.values.flags.writeable:
        raise OperandError("expected writeable values in out, but got read-only ones: assemble makes some")
    return out


def check_structure(out: SparseTensor, kind: TensorType) -> None:
    """Raises OperandError for a structure whose encoding, with widths, is not that of a kernel's result."""
    assert kind.encoding is not None
    if not _agrees(kind.encoding, out.encoding):
        wanted, got = replace(kind, shape=(None,) * kind.rank), out.type
        raise OperandError(f"expected out stored as {wanted}, but got {got}: assemble makes one")


def is_ready(target: Array, values: Mapping[str, Value], dtype: DType) -> bool:
    """Returns whether compiled code can write to an array directly: it is contiguous and apart from all inputs."""
    if target.dtype != dtype.numpy or not (target.flags.c_contiguous and target.flags.aligned):
        return False
    return is_apart(target, values.values())


def is_apart(target: Array, values: Iterable[Value]) -> bool:
    """Returns whether an array shares no memory with operands."""
    arrays = [
        array
        for value in values
        for array in (value.storage.buffers() if isinstance(value, SparseTensor) else (value,))
    ]
    return not any(np.may_share_memory(target, array) for array in arrays)
