"""Sparse results with a structure of their own: reserved on the device once their entries are counted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device import Device, DeviceArray, empty, from_host
from mlir_sparse.encoding import Encoding
from mlir_sparse.runtime.launches import MakeOwn
from mlir_sparse.runtime.library import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_fibres import rows_on_device
from mlir_sparse.tensor.widths import check_width, width_dtype

__all__ = ["OwnResult", "Prepared", "RowsResult"]

# A kernel, its grid, its block, and of each parameter whether it is an address, and its number or place among those.
Prepared = tuple[_cuda.Function, tuple[int, int, int], tuple[int, int, int], tuple[tuple[bool, int], ...]]


@dataclass(frozen=True, slots=True)
class OwnResult:
    """A sparse result of a call, of which all but the number of entries is known.

    Args:
        own: the result.
        shape: its extents.
        total: which of the made arrays has the number of entries as its last element.
        begins: which of them tells where entries begin.
        launches: what fills it.
    """

    own: MakeOwn
    shape: tuple[int, ...]
    total: int
    begins: int
    launches: tuple[Prepared, ...]

    def reserve(self, made: Sequence[DeviceArray], where: Device) -> DeviceTensor:
        """Returns the result, to be filled; waits until its entries are counted, which is all that is read.

        Raises:
            WidthError: for more entries than positions of the encoding's width can count.
            DeviceMemoryError: when there is too little memory, with the figures.
        """
        sums, begins, encoding = made[self.total], made[self.begins], self.own.encoding
        last = DeviceArray(
            sums.pointer + sums.nbytes - sums.dtype.itemsize, (1,), sums.dtype, where, sums._owner, sums._stream
        )
        entries = int(last.to_numpy()[0])
        check_width("posWidth", encoding.pos_width or 64, entries)
        coordinates = width_dtype(encoding.crd_width or 64)
        if self.own.is_listed:
            begins = from_host(np.array([0, entries], width_dtype(encoding.pos_width or 64)), where)
        each = len(self.shape) if self.own.is_listed else 1
        arrays = (begins, empty((entries * each,), coordinates, where), empty((entries,), self.own.dtype, where))
        return DeviceTensor._made(encoding, self.shape, encoding.level_sizes(self.shape), arrays, entries)


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
