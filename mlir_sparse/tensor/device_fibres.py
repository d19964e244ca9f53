"""Tensors of fibres on a device, and tensors on the first levels of another, both without a copy."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.device import DeviceArray
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import level_buffers
from mlir_sparse.tensor.device_tensor import DeviceTensor

__all__ = ["fibres_on_device", "rows_on_device"]


def fibres_on_device(tensor: DeviceTensor, depth: int, encoding: Encoding) -> DeviceTensor:
    """Returns what `fibres_of` returns, for a tensor on a device; it is cached with the tensor."""
    key = ("fibres", depth, encoding)
    kept = tensor._kept.get(key)
    if not isinstance(kept, DeviceTensor):
        first = _buffers_above(tensor.encoding, depth)
        coordinates, starts = tensor._arrays[first - 1], tensor._arrays[first]
        places = coordinates.size
        sizes = (places, *tensor._level_sizes[depth:])
        arrays = (_leading(starts, places + 1), *tensor._arrays[first + 1 :])
        # The view's dimensions are its levels, in order.
        kept = tensor._kept[key] = DeviceTensor._from_parts(encoding, sizes, sizes, arrays, tensor._nse)
    return kept


def rows_on_device(
    rows: DeviceArray, tensor: DeviceTensor, depth: int, encoding: Encoding, shape: Sequence[int]
) -> DeviceTensor:
    """Returns what `of_rows` returns, for a tensor on a device, whose levels are shared."""
    arrays = (*tensor._arrays[: _buffers_above(tensor.encoding, depth)], rows.reshape(rows.size))
    sizes = (*tensor._level_sizes[:depth], *rows.shape[1:])
    return DeviceTensor._from_parts(encoding, shape, sizes, arrays, rows.size)


def _buffers_above(encoding: Encoding, depth: int) -> int:
    return sum(array.level < depth for array in level_buffers(encoding))


def _leading(array: DeviceArray, count: int) -> DeviceArray:
    """Returns the first elements of an array, shared."""
    if array.size == count:
        return array
    return DeviceArray(array.pointer, (count,), array.dtype, array.device, array._owner, array._stream, array.read_only)
