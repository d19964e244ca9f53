"""The numbers of a call, computed from shapes and structure once for each set of operands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

import numpy as np

from mlir_sparse.device import DeviceArray
from mlir_sparse.encoding.buffer_layout import buffer_numbers
from mlir_sparse.program.size_values import (
    ALIGNED,
    Address,
    AxisSize,
    Count,
    Extent,
    Fixed,
    LevelSize,
    Longest,
    Parts,
    Positions,
    Product,
    Start,
    Stored,
)
from mlir_sparse.runtime.device.run_library_products import DeviceValue
from mlir_sparse.tensor import DeviceTensor

__all__ = ["Counts"]


class Counts:
    """The numbers for grids and kernels in one call.

    Args:
        values: the operands by name.
        temporaries: the shapes of the arrays that the call allocates.
        extents: the extent of each index variable.
        given: arrays that the caller provides for some of those, by name.
    """

    def __init__(
        self,
        values: Mapping[str, DeviceValue],
        temporaries: Mapping[str, tuple[int, ...]],
        extents: Mapping[str, int],
        given: Mapping[str, DeviceArray] | None = None,
    ) -> None:
        self._values, self._temporaries, self._extents, self._given = values, temporaries, extents, given or {}

    def __call__(self, count: Count) -> int:
        """Returns a number."""
        match count:
            case Fixed(value):
                return value
            case Extent(variable):
                return self._extents[variable]
            case AxisSize(name, axis):
                return self._temporaries[name][axis] if name in self._temporaries else self._values[name].shape[axis]
            case Address(name):
                return self._address(name) % ALIGNED
            case LevelSize(name, level):
                return self._tensor(name)._level_sizes[level]
            case Stored(name, level):
                return _stored(self._tensor(name), level)
            case Positions(name, level):
                return _buffer(self._tensor(name), level, "positions").size
            case Start(name, dim):
                low, _ = self._tensor(name).encoding.level_space().dim_bounds[dim]
                return min(0, int(low.evaluate((), self._tensor(name).shape)))
            case Longest(name, level):
                return _longest(self._tensor(name), level)
            case Product(factors, more):
                return math.prod(map(self, factors)) + more
            case Parts():
                return count.number(self(count.items))
            case _:
                assert_never(count)

    def _address(self, name: str) -> int:
        """Returns the address of an array; 0, which is aligned, for one that the call allocates."""
        value = self._given.get(name) if name in self._temporaries else self._values[name]
        assert value is None or isinstance(value, DeviceArray)
        return 0 if value is None else value.pointer

    def _tensor(self, name: str) -> DeviceTensor:
        value = self._values[name]
        assert isinstance(value, DeviceTensor)
        return value


def _buffer(tensor: DeviceTensor, level: int, kind: str) -> DeviceArray:
    return tensor._arrays[buffer_numbers(tensor.encoding)[level, kind]]


def _stored(tensor: DeviceTensor, level: int) -> int:
    together = tensor.encoding.aos_levels
    return _buffer(tensor, level, "coordinates").size // (len(together) if level in together else 1)


def _longest(tensor: DeviceTensor, level: int) -> int:
    """Returns the greatest number of coordinates below one parent, computed once a tensor on the host."""
    key = ("longest", level)
    found = tensor._kept.get(key)
    if not isinstance(found, int):
        positions = _buffer(tensor, level, "positions").to_numpy().astype(np.int64, copy=False)
        found = tensor._kept[key] = int(np.diff(positions).max(initial=0))
    return found
