"""Device arrays of other libraries, used without a copy: PyTorch's, DLPack's, those of CUDA's array interface."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device.device_array import DeviceArray
from mlir_sparse.device.driver import Device
from mlir_sparse.device.streams import DEFAULT, current_stream, order
from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.errors import DTypeError, OperandError

__all__ = ["as_device", "is_device_source"]

# `DLDeviceType`: memory of a GPU, and managed memory.
_CUDA_DEVICES = (2, 13)
# Of `DLDataTypeCode`: what NumPy calls numbers of so many bits.
_CODES = {0: "int{}", 1: "uint{}", 2: "float{}", 4: "bfloat{}", 5: "complex{}", 6: TRUTH.numpy_name}
_LEGACY = 1


def is_device_source(source: object) -> bool:
    """Returns whether an object is an array on a device."""
    if isinstance(source, DeviceArray):
        return True
    if isinstance(source, np.ndarray | np.generic | int | float | complex | str | list | tuple):
        return False
    if _is_torch(source):
        return bool(source.device.type == "cuda")  # type: ignore[attr-defined]
    if hasattr(source, "__cuda_array_interface__"):
        return True
    return hasattr(type(source), "__dlpack_device__") and int(source.__dlpack_device__()[0]) in _CUDA_DEVICES  # type: ignore[attr-defined]


def as_device(name: str, source: Any) -> DeviceArray:
    """Returns a DeviceArray on the memory of another library's array, ready for the next launch.

    Raises:
        OperandError: for an array in host memory or with strides, and for a tensor that records gradients.
        DTypeError: for an element type that tensors do not have.
    """
    if isinstance(source, DeviceArray):
        return source
    if not is_device_source(source):
        raise OperandError(
            f"expected {name} on a device, but got {type(source).__name__} in host memory: "
            f"pass ms.to_device({name}), or {name}.to('cuda')"
        )
    if _is_torch(source):
        return _from_torch(name, source)
    if hasattr(source, "__dlpack__"):
        return _from_dlpack(name, source)
    return _from_interface(name, source)


def _is_torch(source: object) -> bool:
    module = sys.modules.get("torch")
    return module is not None and isinstance(source, module.Tensor)


def _from_torch(name: str, source: Any) -> DeviceArray:
    torch = sys.modules["torch"]
    if source.requires_grad:
        raise OperandError(f"expected {name} without gradients, but got a tensor that requires grad: pass x.detach()")
    if source.is_conj() or source.is_neg():
        raise OperandError(f"expected {name} as it is stored, but got a conjugate view: pass x.resolve_conj()")
    if not source.is_contiguous():
        raise _strided(name, source.shape, source.stride())
    where = Device(source.device.index)
    order(where, int(torch.cuda.current_stream(where.number).cuda_stream), current_stream())
    dtype = _numpy_dtype(name, str(source.dtype).removeprefix("torch."))
    return DeviceArray(source.data_ptr(), tuple(source.shape), dtype, where, source, current_stream())


def _from_dlpack(name: str, source: Any) -> DeviceArray:
    stream = current_stream() or _LEGACY
    try:
        capsule = source.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # before version 1
        capsule = source.__dlpack__(stream=stream)
    pointer, shape, strides, code, bits, lanes, _, number, read_only, owner = _cuda.from_dlpack(capsule)
    if lanes != 1:
        raise DTypeError(f"expected numbers for {name}, but got vectors of {lanes}")
    dtype = _numpy_dtype(name, _CODES.get(code, "void{}").format(bits))
    if strides is not None and not _contiguous(shape, strides):
        raise _strided(name, shape, strides)
    return DeviceArray(pointer, shape, dtype, Device(number), owner, current_stream(), read_only)


def _from_interface(name: str, source: Any) -> DeviceArray:
    found = source.__cuda_array_interface__
    dtype = _numpy_dtype(name, np.dtype(found["typestr"]).name)
    shape, strides = tuple(found["shape"]), found.get("strides")
    if strides is not None and not _contiguous(shape, [step // dtype.itemsize for step in strides]):
        raise _strided(name, shape, strides)
    pointer, read_only = found["data"]
    where = Device(_device_of(source))
    stream = found.get("stream")
    if stream is not None:
        order(where, DEFAULT if stream == _LEGACY else int(stream), current_stream())
    return DeviceArray(int(pointer), shape, dtype, where, source, current_stream(), bool(read_only))


def _device_of(source: Any) -> int:
    """Returns the number of an array's device, from the library's own attributes: the interface has none."""
    device = getattr(source, "device", None)
    number = getattr(device, "id", getattr(device, "index", device))
    return number if isinstance(number, int) else 0


def _contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != step:
            return 0 in shape
        step *= extent
    return True


def _numpy_dtype(name: str, spelling: str) -> np.dtype[Any]:
    try:
        return DType.of(spelling).numpy
    except DTypeError as error:
        raise DTypeError(f"{error.message} (operand {name})") from None


def _strided(name: str, shape: Sequence[int], strides: Sequence[int]) -> OperandError:
    return OperandError(
        f"expected {name} in C order, but got shape {tuple(shape)} with strides {tuple(strides)}: "
        f"pass a contiguous copy, such as x.contiguous()"
    )
