"""Sparse results with a structure of their own: reserved on the device once their entries are counted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device import Device, DeviceArray, current_stream, empty, from_host
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.launch_values import MakeOwn
from mlir_sparse.runtime.call_arguments import buffer_dtypes
from mlir_sparse.runtime.device.vendor_products_run import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_fibres import rows_on_device
from mlir_sparse.tensor.widths import check_width

__all__ = ["OwnResult", "Prepared", "RowsResult"]

# A kernel, its grid, its block, and of each parameter whether it is an address, and its number or place among those.
Prepared = tuple[_cuda.Function, tuple[int, int, int], tuple[int, int, int], tuple[tuple[bool, int], ...]]


@dataclass(frozen=True, slots=True)
class OwnResult:
    """A sparse result of a call, of which all but the number of entries is known.

    Args:
        own: the result.
        shape: its extents.
        totals: which of the made arrays have the numbers of entries of counted levels as their last elements.
        begins: which of them tells where entries begin.
        launches: what fills it.
    """

    own: MakeOwn
    shape: tuple[int, ...]
    totals: tuple[int, ...]
    begins: int
    launches: tuple[Prepared, ...]

    def reserve(self, made: Sequence[DeviceArray], where: Device) -> DeviceTensor:
        """Returns the result, to be filled; waits until its entries are counted, which is all that is read.

        Raises:
            WidthError: for more entries than positions of the encoding's width can count.
            DeviceMemoryError: when there is too little memory, with the figures.
        """
        encoding, stream = self.own.encoding, current_stream()
        entries = [_last_of(made[total], where) for total in self.totals]
        check_width("posWidth", encoding.pos_width or 64, max(entries))
        arrays = []
        for length, kind in zip(self.own.lengths(entries), buffer_dtypes(encoding, self.own.dtype), strict=True):
            arrays.append(empty((length,), kind, where))
        if encoding.level_types[0].has_coordinates:
            arrays[0] = from_host(np.array([0, entries[0]], arrays[0].dtype), where)
        else:
            arrays[0] = made[self.begins]
        for positions in arrays[2:-1:2]:
            _cuda.fill(where.number, positions.pointer, 0, positions.dtype.itemsize, stream)
        return DeviceTensor._from_parts(encoding, self.shape, encoding.level_sizes(self.shape), arrays, entries[-1])


def _last_of(sums: DeviceArray, where: Device) -> int:
    """Returns the last element of an array, once it is written."""
    address = sums.pointer + sums.nbytes - sums.dtype.itemsize
    return int(DeviceArray(address, (1,), sums.dtype, where, sums._owner, sums._stream).to_numpy()[0])


@dataclass(frozen=True, slots=True)
class RowsResult:
    """A sparse result of which rows were computed, below the first levels of an operand.

    Args:
        operand: the operand's place.
        depth: how many of its levels.
        encoding: the result's storage.
        shape: its extents.
        rows: which of the made arrays has the rows.
    """

    operand: int
    depth: int
    encoding: Encoding
    shape: tuple[int, ...]
    rows: int

    def over(self, operands: Sequence[DeviceValue], made: Sequence[DeviceArray]) -> DeviceTensor:
        """Returns the result, once its rows are launched."""
        operand = operands[self.operand]
        assert isinstance(operand, DeviceTensor)
        return rows_on_device(made[self.rows], operand, self.depth, self.encoding, self.shape)
