"""Sparse results with a new structure: allocated on the device after the symbolic phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.classes import dataclass
from mlir_sparse.device import Device, DeviceArray, current_stream, empty, from_host
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.launch_program import MakeAssembled
from mlir_sparse.runtime.call_arguments import buffer_dtypes
from mlir_sparse.runtime.device.run_library_products import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_fibres import rows_on_device
from mlir_sparse.tensor.widths import check_width

__all__ = ["AssembledResult", "Prepared", "SharedLevelsResult"]

# A kernel, its grid, its block, and its parameters: (False, number), or (True, index into the addresses).
Prepared = tuple[_cuda.Function, tuple[int, int, int], tuple[int, int, int], tuple[tuple[bool, int], ...]]


@dataclass(frozen=True, slots=True)
class AssembledResult:
    """A sparse result with a new structure, before its entries are counted.

    Args:
        assembled: the result.
        shape: its extents.
        totals: the temporaries whose last elements are the numbers of entries of counted levels.
        begins: the temporary with the begins of entries.
        launches: the numeric phase, which fills the result.
    """

    assembled: MakeAssembled
    shape: tuple[int, ...]
    totals: tuple[int, ...]
    begins: int
    launches: tuple[Prepared, ...]

    def reserve(self, temporaries: Sequence[DeviceArray], where: Device) -> DeviceTensor:
        """Allocates the result, after waiting for the counts of its entries.

        Raises:
            WidthError: for more entries than positions of the encoding's width can hold.
            DeviceMemoryError: when there is too little memory, with the figures.
        """
        encoding, stream = self.assembled.encoding, current_stream()
        entries = [_last_of(temporaries[total], where) for total in self.totals]
        check_width("posWidth", encoding.pos_width or 64, max(entries))
        arrays = []
        for length, kind in zip(
            self.assembled.lengths(entries), buffer_dtypes(encoding, self.assembled.dtype), strict=True
        ):
            arrays.append(empty((length,), kind, where))
        if encoding.level_types[0].has_coordinates:
            arrays[0] = from_host(np.array([0, entries[0]], arrays[0].dtype), where)
        else:
            arrays[0] = temporaries[self.begins]
        for positions in arrays[2:-1:2]:
            _cuda.fill(where.number, positions.pointer, 0, positions.dtype.itemsize, stream)
        return DeviceTensor._from_parts(encoding, self.shape, encoding.level_sizes(self.shape), arrays, entries[-1])


def _last_of(sums: DeviceArray, where: Device) -> int:
    """Returns the last element of an array, after all launched writes."""
    address = sums.pointer + sums.nbytes - sums.dtype.itemsize
    return int(DeviceArray(address, (1,), sums.dtype, where, sums._owner, sums._stream).to_numpy()[0])


@dataclass(frozen=True, slots=True)
class SharedLevelsResult:
    """A sparse result of computed rows on the first levels of an operand.

    Args:
        operand: the operand's number.
        depth: the number of its levels.
        encoding: the result's encoding.
        shape: its extents.
        rows: the temporary with the rows.
    """

    operand: int
    depth: int
    encoding: Encoding
    shape: tuple[int, ...]
    rows: int

    def over(self, operands: Sequence[DeviceValue], temporaries: Sequence[DeviceArray]) -> DeviceTensor:
        """Returns the result, after the launches that compute its rows."""
        operand = operands[self.operand]
        assert isinstance(operand, DeviceTensor)
        return rows_on_device(temporaries[self.rows], operand, self.depth, self.encoding, self.shape)
