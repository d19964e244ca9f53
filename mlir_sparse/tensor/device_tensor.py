"""Sparse tensors in device memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.device import Device, DeviceArray, as_device, device, from_host, is_device_source
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.buffer_layout import check_shape, level_buffers
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import OperandError, StorageError, UnsupportedError
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import tensor_with_zeros
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.level_view import level_view
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["DeviceStorage", "DeviceTensor", "level_view_of", "one_device", "structure_of", "to_device"]

_tokens = itertools.count()


@dataclass(frozen=True, slots=True)
class DeviceStorage:
    """Level storage on a device."""

    encoding: Encoding
    level_sizes: tuple[int, ...]
    arrays: tuple[DeviceArray, ...]

    def buffers(self) -> tuple[DeviceArray, ...]:
        """Returns the arrays in the order of compiled functions' arguments; writing to them changes the tensor."""
        return self.arrays

    @property
    def values(self) -> DeviceArray:
        """Returns the stored values, explicit zeros and padding included."""
        return self.arrays[-1]


class DeviceTensor:
    """A sparse tensor on a device; `A.to("cuda")` makes one, `to("cpu")` copies it back.

    Kernels for the device read its buffers in place. No copy to the host is implicit: NumPy, SciPy and CPU kernels
    refuse it.
    """

    __slots__ = (
        "__weakref__",
        "_arrays",
        "_dtype",
        "_kept",
        "_lent",
        "_level_sizes",
        "_nse",
        "_shape",
        "_token",
        "encoding",
    )

    encoding: Encoding
    _shape: tuple[int, ...]
    _level_sizes: tuple[int, ...]
    _arrays: tuple[DeviceArray, ...]
    _dtype: DType
    _nse: int
    # What the runtime computed from the buffers, kept for later calls.
    _kept: dict[Any, Any]
    # Whether other libraries may write to the values.
    _lent: bool
    # A unique number, by which the runtime recognises a tensor that it has checked.
    _token: int

    def __init__(self, *_: object, **__: object) -> None:
        raise OperandError('expected A.to("cuda") or DeviceTensor.from_levels(...) to make a DeviceTensor')

    @classmethod
    def _from_parts(
        cls,
        encoding: Encoding,
        shape: Sequence[int],
        level_sizes: Sequence[int],
        arrays: Sequence[DeviceArray],
        nse: int,
    ) -> DeviceTensor:
        """Returns a tensor of valid buffers; nothing is checked."""
        self = object.__new__(cls)
        self.encoding, self._shape, self._level_sizes = encoding, tuple(shape), tuple(level_sizes)
        self._arrays, self._nse, self._kept, self._lent = tuple(arrays), nse, {}, False
        self._token = next(_tokens)
        self._dtype = DType.of(arrays[-1].dtype)
        return self

    @classmethod
    def from_levels(
        cls,
        encoding: str | Encoding,
        shape: Sequence[int],
        positions: Sequence[Any],
        coordinates: Sequence[Any],
        values: Any,
        *,
        check: bool = True,
    ) -> DeviceTensor:
        """Returns a tensor on the level buffers of a device, without copying them there.

        Args:
            encoding: any argument of `encoding`; widths that it does not name are those of the arrays.
            shape: the extent of each dimension.
            positions: for each level an array on the device, of any library, or None where it has none.
            coordinates: likewise; the levels of an array-of-structs COO region share one, at their first level.
            values: the values.
            check: False leaves out the check of the encoding's rules, which copies the structure to the host once. With
                a wrong structure kernels read out of bounds.

        Raises:
            StorageError: for arrays that do not match the encoding; subclasses for wrong contents.
            OperandError: for arrays in host memory, or on two devices.
        """
        named = [("positions", positions), ("coordinates", coordinates)]
        taken = [
            [None if a is None else as_device(f"{n}[{at}]", a) for at, a in enumerate(given)] for n, given in named
        ]
        kind = as_encoding(encoding, rank=len(shape))
        extents = check_shape(shape, kind)
        _check_array_kinds(kind, *taken)
        given = [array for pair in zip(*taken, strict=True) for array in pair if array is not None]
        arrays = (*given, as_device("values", values))
        one_device(dict(enumerate(arrays)))
        kind = _with_widths(kind, taken[0], taken[1])
        flat = tuple(a.reshape(a.size) if a.ndim != 1 else a for a in arrays)
        result = cls._from_parts(kind, extents, kind.level_sizes(extents), flat, flat[-1].size)
        result._lent = True
        if check:
            result._nse = _checked(result).nse
        return result

    def _with_values(self, values: DeviceArray) -> DeviceTensor:
        """Returns a tensor with the same, shared structure and other values."""
        return self._from_parts(self.encoding, self._shape, self._level_sizes, (*self._arrays[:-1], values), self._nse)

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each dimension."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Returns the NumPy dtype of the values."""
        return self._dtype.numpy

    @property
    def type(self) -> TensorType:
        """Returns the type that kernels are compiled for: any shape of this element type and encoding."""
        return TensorType(self._dtype, (None,) * self.ndim, self.encoding)

    @property
    def nse(self) -> int:
        """Returns the number of stored entries, explicit zeros and the padding of blocks included."""
        return self._nse

    @property
    def nbytes(self) -> int:
        """Returns the bytes of all buffers."""
        return sum(array.nbytes for array in self._arrays)

    @property
    def device(self) -> str:
        """Returns the name of the device that holds the tensor, such as `cuda:0`."""
        return str(self._arrays[-1].device)

    @property
    def storage(self) -> DeviceStorage:
        """Returns the buffers, noting that they are shared from now on."""
        self._lent = True
        return DeviceStorage(self.encoding, self._level_sizes, self._arrays)

    def to(self, where: str | Device) -> DeviceTensor | SparseTensor:
        """Returns the tensor on a device (itself if it is there already), or in host memory for `cpu`.

        Raises:
            DeviceMemoryError: when there is too little memory on the device, with the figures.
        """
        if where == "cpu":
            return self.to_host()
        target = device(where)
        if target == self._arrays[-1].device:
            return self
        arrays = [array.copy(target) for array in self._arrays]
        return self._from_parts(self.encoding, self._shape, self._level_sizes, arrays, self._nse)

    def to_host(self) -> SparseTensor:
        """Returns a copy in host memory."""
        buffers = tuple(array.to_numpy() for array in self._arrays)
        storage = LevelStorage.from_buffers(self.encoding, self._level_sizes, buffers)
        return SparseTensor._trusted(self.encoding, self._shape, storage)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Returns a dense array in host memory; entries stored twice are added."""
        return self.to_host().to_numpy()

    def to_torch(self) -> Any:
        """Returns a PyTorch tensor on the device that shares the buffers: csr, csc, bsr, bsc or coo.

        Raises:
            UnsupportedError: for storage that PyTorch lacks.
            MissingPackageError: without PyTorch.
        """
        from mlir_sparse.tensor.borders.cuda_libraries import to_torch  # PyTorch is optional

        return to_torch(self)

    def to_cupy(self) -> Any:
        """Returns a sparse matrix of CuPy that shares the buffers: csr, csc or coo.

        Raises:
            UnsupportedError: for storage that CuPy lacks.
            MissingPackageError: without CuPy.
        """
        from mlir_sparse.tensor.borders.cuda_libraries import to_cupy  # CuPy is optional

        return to_cupy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise OperandError(f'expected a tensor in host memory, but got one on {self.device}: pass A.to("cpu")')

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self._shape))
        return (
            f"DeviceTensor({self._dtype}[{shape}] {self.encoding.map_text()}, {self._nse} entries, "
            f"{in_units(self.nbytes)} on {self.device})"
        )


def to_device(source: Any, where: str | Device = "cuda") -> DeviceTensor | DeviceArray:
    """Returns a tensor or array on a device: a copy of one in host memory, the same buffers for one on the device.

    Args:
        source: a SparseTensor or DeviceTensor, a sparse tensor of PyTorch or CuPy, or a dense array of any library.
        where: the device.

    Raises:
        OperandError: for a slice of a tensor, whose buffers are its parent's.
        DeviceMemoryError: when there is too little memory, with the figures.
        DeviceError: without a driver or that device.
    """
    from mlir_sparse.tensor.borders.cuda_libraries import is_device_sparse, tensor_of  # other libraries' sparse tensors

    target = device(where)
    if is_sparse_source(source) and not is_device_sparse(source):
        source = tensor_with_zeros(source, "a device")
    if isinstance(source, SparseTensor):
        return _copied(source, target)
    if is_device_sparse(source):
        source = tensor_of(source)
    if isinstance(source, DeviceTensor):
        there = source.to(target)
        assert isinstance(there, DeviceTensor)
        return there
    if is_device_source(source):
        array = as_device("x", source)
        return array if array.device == target else array.copy(target)
    host = array_of(source, "a tensor or an array of numbers")
    return from_host(host.astype(DType.of(host.dtype).numpy, copy=False), target)


def _copied(tensor: SparseTensor, target: Device) -> DeviceTensor:
    if tensor.storage.view or tensor.encoding.has_slices:
        raise OperandError("expected a whole tensor, but got a slice: pass a copy, such as A.convert('CSR')")
    arrays = [from_host(buffer, target) for buffer in tensor.storage.buffers()]
    return DeviceTensor._from_parts(tensor.encoding, tensor.shape, tensor.storage.level_sizes, arrays, tensor.nse)


def one_device(arrays: dict[Any, DeviceArray]) -> Device:
    """Returns the device of all arrays.

    Raises:
        OperandError: for arrays on different devices.
    """
    (first, array), *others = arrays.items()
    for name, other in others:
        if other.device != array.device:
            raise OperandError(
                f"expected all operands on one device, but got {first} on {array.device} and {name} on {other.device}: "
                f"pass {name}.to('{array.device}')"
            )
    return array.device


def _with_widths(
    kind: Encoding, positions: Sequence[DeviceArray | None], coordinates: Sequence[DeviceArray | None]
) -> Encoding:
    found = []
    for what, arrays, width in (("positions", positions, kind.pos_width), ("coordinates", coordinates, kind.crd_width)):
        widths = {8 * array.dtype.itemsize for array in arrays if array is not None}
        if len(widths) > 1 or (width and widths - {width}):
            raise StorageError(f"expected {what} of {width or 'one'} bits, but got {sorted(widths)}")
        if any(array.dtype.kind not in "iu" for array in arrays if array is not None):
            raise StorageError(f"expected {what} of integers, but got others")
        found.append(width or next(iter(widths), 0))
    return kind.with_widths(*found)


def _check_array_kinds(
    kind: Encoding, positions: Sequence[DeviceArray | None], coordinates: Sequence[DeviceArray | None]
) -> None:
    if not is_plain(kind):
        raise UnsupportedError(f"expected storage of a whole tensor, but got {kind.to_text()}: pass it from the host")
    for what, arrays in (("positions", positions), ("coordinates", coordinates)):
        if len(arrays) != kind.lvl_rank:
            raise StorageError(
                f"expected {what} for {kind.lvl_rank} levels, None where there are none, but got {len(arrays)}"
            )
    known = {(level, what) for level, what, _ in level_buffers(kind)}
    for level in range(kind.lvl_rank):
        for what, array in (("positions", positions[level]), ("coordinates", coordinates[level])):
            wanted = (level, what) in known
            if wanted != (array is not None):
                rule = what if wanted else f"no {what}"
                got = "None" if wanted else f"an array of {array.size if array is not None else 0}"
                raise StorageError(f"expected {rule} for level {level} of {kind.map_text()}, but got {got}")


def structure_of(tensor: DeviceTensor) -> SparseTensor:
    """Returns a copy of the structure in host memory, with zeros for values."""
    *structure, values = tensor._arrays
    blank = np.zeros(values.size, tensor.dtype)
    storage = LevelStorage.from_buffers(
        tensor.encoding, tensor._level_sizes, (*(array.to_numpy() for array in structure), blank)
    )
    return SparseTensor._trusted(tensor.encoding, tensor.shape, storage)


def level_view_of(tensor: DeviceTensor) -> DeviceTensor:
    """Returns the level-space view of a tensor; derived buffers are computed on the host, once a tensor."""
    kept = tensor._kept.get("view")
    if not isinstance(kept, DeviceTensor):
        view, values = level_view(structure_of(tensor)), tensor._arrays[-1]
        arrays = [*(from_host(buffer, values.device) for buffer in view.storage.buffers()[:-1]), values]
        kept = DeviceTensor._from_parts(view.encoding, view.shape, view.storage.level_sizes, arrays, view.nse)
        tensor._kept["view"] = kept
    return kept


def _checked(tensor: DeviceTensor) -> SparseTensor:
    """Returns the tensor's structure in host memory, checked, with zeros for values."""
    storage = structure_of(tensor).storage
    return SparseTensor.from_levels(
        tensor.encoding, tensor.shape, storage.positions, storage.coordinates, storage.values
    )
