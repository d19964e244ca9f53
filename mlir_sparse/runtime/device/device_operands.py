"""Checks operands on a device; arrays of other libraries are used without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlir_sparse.device import Device, DeviceArray, as_device, is_device_source
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, ExtentError, OperandError, RankError
from mlir_sparse.runtime.operand_check import check_storage, type_of, value_of
from mlir_sparse.tensor import DeviceTensor, SparseTensor, to_device
from mlir_sparse.tensor.borders.cuda_libraries import is_device_sparse
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.device_tensor import one_device

if TYPE_CHECKING:
    from mlir_sparse.runtime.device.run_library_products import DeviceValue

__all__ = [
    "as_device_argument",
    "as_device_output",
    "device_of",
    "device_type_of",
    "is_on_device",
    "overlaps",
    "type_of_given",
]


def is_on_device(source: object) -> bool:
    """Returns whether an operand is on a device."""
    return isinstance(source, DeviceTensor) or is_device_sparse(source) or is_device_source(source)


def device_value(name: str, source: Any) -> DeviceValue:
    """Returns an operand as an array or tensor on its device, sharing memory with other libraries.

    Raises:
        OperandError: for one in host memory, or with strides.
    """
    if isinstance(source, DeviceTensor | DeviceArray):
        return source
    if is_device_sparse(source):
        found = to_device(source, str(Device(source.device.index or 0)) if hasattr(source, "layout") else "cuda")
        assert isinstance(found, DeviceTensor)
        return found
    if isinstance(source, SparseTensor) or is_sparse_source(source):
        raise OperandError(
            f"expected {name} on a device, but got {type(source).__name__} in host memory: "
            f"pass {name}.to('cuda'), or ms.to_device({name})"
        )
    return as_device(name, source)


def device_type_of(source: Any) -> TensorType:
    """Returns the type of an operand on a device, with any shape."""
    value = device_value("it", source)
    if isinstance(value, DeviceTensor):
        return value.type
    return TensorType(DType.of(value.dtype), (None,) * value.ndim)


def type_of_given(name: str, given: Any) -> TensorType:
    """Returns the type of an operand from data in host or device memory, or as it is given, also as text."""
    if isinstance(given, TensorType):
        return given
    if isinstance(given, str):
        return TensorType.parse(given)
    return device_type_of(given) if is_on_device(given) else type_of(value_of(name, given))


def as_device_argument(name: str, source: Any, kind: TensorType) -> DeviceValue:
    """Returns an operand as a value of a kernel's type.

    Raises:
        OperandError: for one in host memory, or with another storage.
        DTypeError: for another element type.
        RankError: for another number of dimensions.
        ExtentError: for an extent other than declared.
    """
    value = device_value(name, source)
    got = device_type_of(value)
    if got.rank != kind.rank:
        raise RankError(f"expected {name} of {kind.rank} dimensions, but got {got.rank} (shape {value.shape})")
    if got.dtype != kind.dtype:
        raise DTypeError(f"expected {kind.dtype} for {name}, but got {got.dtype}: compile for {got.dtype}")
    check_storage(name, got, kind)
    if any(static not in (None, size) for static, size in zip(kind.shape, value.shape, strict=True)):
        raise ExtentError(f"expected {name} of shape {kind.shape}, but got {value.shape}")
    return value


def as_device_output(out: Any, kind: TensorType) -> DeviceArray:
    """Checks the array for a dense result.

    Raises:
        OperandError: for anything except a writeable array on a device.
        DTypeError, RankError: for another element type or number of dimensions.
    """
    if kind.encoding is not None:
        raise OperandError(
            f"expected no out= for a result stored as {kind}, but got {type(out).__name__}: "
            "sparse results are new tensors"
        )
    array = as_device("out", out)
    if array.ndim != kind.rank:
        raise RankError(f"expected out of {kind.rank} dimensions, but got {array.ndim} (shape {array.shape})")
    if DType.of(array.dtype) != kind.dtype:
        raise DTypeError(f"expected out of dtype {kind.dtype.numpy.name}, but got {array.dtype}")
    if array.read_only:
        raise OperandError("expected a writeable array for out, but got a read-only one")
    return array


def device_of(values: dict[str, DeviceValue]) -> Device:
    """Returns the device of all operands.

    Raises:
        OperandError: for operands on two devices, and without any operand on a device.
    """
    if not values:
        raise OperandError("expected an operand or out= that says which device, but got none: use target='cpu'")
    return one_device({name: _arrays(value)[-1] for name, value in values.items()})


def _arrays(value: DeviceValue) -> tuple[DeviceArray, ...]:
    return value._arrays if isinstance(value, DeviceTensor) else (value,)


def overlaps(out: DeviceArray, value: DeviceValue) -> bool:
    """Returns whether an output shares memory with an operand."""
    begin, end = out.pointer, out.pointer + out.nbytes
    return any(begin < a.pointer + a.nbytes and a.pointer < end for a in _arrays(value))
