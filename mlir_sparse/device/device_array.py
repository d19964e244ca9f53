"""Arrays in device memory, in C order, which other libraries share without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device.driver import Device
from mlir_sparse.device.streams import DEFAULT, current_stream, order
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import OperandError, RankError

__all__ = ["DeviceArray", "empty", "from_host"]

# DLPack's type codes: integer, unsigned, floating, complex, truth values; bfloat.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4
_CUDA = 2
_NEVER = -1
# Other libraries' number of the default stream: 0 could also mean the thread's own default stream.
_LEGACY = 1


class DeviceArray:
    """An array in device memory.

    Other libraries read it without a copy: `torch.from_dlpack(x)`, `cupy.asarray(x)`. NumPy cannot: `x.to_numpy()`
    copies. The memory is freed with the last reference to it.

    Args:
        pointer: the address of the first element.
        shape: the extents.
        dtype: the element type.
        where: the device.
        owner: the object that keeps the memory alive.
        stream: the stream it was last written on.
        read_only: whether writing is forbidden.
    """

    __slots__ = ("_owner", "_stream", "device", "dtype", "pointer", "read_only", "shape")

    def __init__(
        self,
        pointer: int,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        where: Device,
        owner: object,
        stream: int = DEFAULT,
        read_only: bool = False,
    ) -> None:
        self.pointer, self.shape, self.dtype, self.device = pointer, tuple(shape), dtype, where
        self._owner, self._stream, self.read_only = owner, stream, read_only

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("expected an array of one dimension or more, but got a scalar")
        return self.shape[0]

    def reshape(self, *shape: int) -> DeviceArray:
        """Returns the same memory in another shape of the same size.

        Raises:
            RankError: for another number of elements.
        """
        if math.prod(shape) != self.size:
            raise RankError(f"expected a shape of {self.size} elements, but got {shape}")
        return DeviceArray(self.pointer, shape, self.dtype, self.device, self._owner, self._stream, self.read_only)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Returns a copy in host memory, after all launched writes."""
        order(self.device, self._stream, current_stream())
        host = np.empty(self.shape, self.dtype)
        _cuda.copy_out(self.device.number, host.reshape(-1).view(np.uint8), self.pointer, current_stream())
        return host

    def to(self, where: str | Device) -> DeviceArray | np.ndarray[Any, Any]:
        """Returns the array on a device (itself if it is there already), or a NumPy array for `cpu`."""
        from mlir_sparse.device.driver import device

        if where == "cpu":
            return self.to_numpy()
        target = device(where)
        return self if target == self.device else self.copy(target)

    def copy(self, where: Device | None = None) -> DeviceArray:
        """Returns a copy in new memory, on another device if one is named."""
        result = empty(self.shape, self.dtype, where or self.device)
        self.use()
        _cuda.copy_across(
            result.device.number, result.pointer, self.device.number, self.pointer, self.nbytes, current_stream()
        )
        return result

    def copy_into(self, target: DeviceArray) -> None:
        """Copies the elements to an array of the same shape and type."""
        _cuda.copy_across(
            target.device.number,
            target.use(writes=True),
            self.device.number,
            self.use(),
            self.nbytes,
            current_stream(),
        )

    def use(self, *, writes: bool = False) -> int:
        """Returns the address for work on the current stream, after making it wait for work on other streams."""
        stream = current_stream()
        if stream != self._stream:
            order(self.device, self._stream, stream)
            self.share()
            if writes:
                self._stream = stream
        return self.pointer

    def share(self) -> None:
        """Notes that other streams use the memory too: freeing it waits for them."""
        if isinstance(self._owner, _cuda.Memory):
            self._owner.share()

    @property
    def is_shared(self) -> bool:
        """Returns whether other libraries may write to the memory: the one that lent it, or one that borrowed it."""
        return not isinstance(self._owner, _cuda.Memory) or self._owner.shared

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind not in _CODES:
            raise AttributeError(f"expected an element type that the interface has, but got {self.dtype}: use DLPack")
        self.share()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, self.read_only),
            "strides": None,
            "version": 3,
            "stream": self._stream or _LEGACY,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device.number

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"expected device {self.__dlpack_device__()}, but got {dl_device}: pass x.to_numpy()")
        given = self.copy() if copy else self
        if stream != _NEVER:
            order(given.device, given._stream, DEFAULT if stream in (None, _LEGACY) else int(stream))
        given.share()
        versioned = max_version is not None and max_version[0] >= 1
        if self.read_only and not versioned:
            raise BufferError("expected a consumer that knows read-only memory, but got one of DLPack before version 1")
        code = _CODES.get(self.dtype.kind, _BFLOAT)
        bits = self.dtype.itemsize * 8
        return _cuda.to_dlpack(
            given.pointer, self.shape, code, bits, self.device.number, given._owner, versioned, self.read_only
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise OperandError(f"expected an array in host memory, but got one on {self.device}: pass x.to_numpy()")

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name}, device='{self.device}')"


def empty(shape: Sequence[int], dtype: np.dtype[Any] | DType, where: Device) -> DeviceArray:
    """Returns an uninitialised array.

    Raises:
        DeviceMemoryError: when there is too little memory, with the figures.
    """
    kind = dtype.numpy if isinstance(dtype, DType) else dtype
    stream = current_stream()
    memory = _cuda.Memory(where.number, math.prod(shape) * kind.itemsize, stream)
    return DeviceArray(memory.pointer, shape, kind, where, memory, stream)


def from_host(array: np.ndarray[Any, Any], where: Device) -> DeviceArray:
    """Returns a copy of an array on a device.

    Raises:
        DeviceMemoryError: when there is too little memory, with the figures.
    """
    result = empty(array.shape, array.dtype, where)
    contiguous = np.ascontiguousarray(array)
    _cuda.copy_in(where.number, result.pointer, contiguous.reshape(-1).view(np.uint8), current_stream())
    return result
