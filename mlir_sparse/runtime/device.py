"""Programs that run on a device: launches of kernels in PTX, over buffers that stay there.

What a call needs beside addresses (grids, blocks, sizes) depends on shapes and structure alone.
It is worked out when operands are first seen, so that a later call only fills in addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_never

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device import Device, DeviceArray, chip_of, current_stream, empty
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.runtime.launches import (
    Array,
    AxisSize,
    Count,
    Extent,
    Fixed,
    LaunchProgram,
    LevelBuffer,
    LevelSize,
    Longest,
    MakeArray,
    MakeShared,
    Parameter,
    Positions,
    Start,
    Stored,
)
from mlir_sparse.runtime.library import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_tensor import level_view_of

__all__ = ["DeviceProgram", "PreparedCall", "check_chip"]

_CHIP = re.compile(r"sm_(\d+)([a-z]?)")


def check_chip(chip: str, where: Device) -> None:
    """Raises UnsupportedError where a device does not run what was compiled for a chip."""
    wanted, present = _CHIP.fullmatch(chip), _CHIP.fullmatch(chip_of(where))
    assert wanted is not None
    assert present is not None
    runs = int(present[1]) >= int(wanted[1]) if not wanted[2] else present[1] == wanted[1]
    if not runs:
        raise UnsupportedError(
            f"expected a device of {chip}{'' if wanted[2] else ' or newer'}, but got {chip_of(where)} ({where}): "
            f'compile for target="cuda:{chip_of(where)}"'
        )


class DeviceProgram:
    """A compiled program of launches, loaded once for each device that it runs on.

    Args:
        program: what to launch.
        operands: the names of the operands, in the order of a call.
        views: the operand that each name stands for which is a view over its levels.
        label: what messages call it.
    """

    def __init__(
        self,
        program: LaunchProgram,
        operands: Sequence[str],
        views: Mapping[str, str],
        label: str,
    ) -> None:
        self.program, self.operands, self.views = program, tuple(operands), dict(views)
        self._label = label

    def __reduce__(self) -> tuple[Any, ...]:
        # What the driver made of it stays here: another process loads the PTX anew.
        return DeviceProgram, (self.program, self.operands, self.views, self._label)

    @cached_property
    def _module(self) -> _cuda.Module:
        return _cuda.Module(self.program.ptx, self._label)

    @cached_property
    def _functions(self) -> dict[str, _cuda.Function]:
        return {}

    def _function(self, kernel: str, where: Device) -> _cuda.Function:
        function = self._functions.get(kernel)
        if function is None:
            function = self._functions[kernel] = _cuda.Function(self._module, kernel)
        function.load(where.number)
        return function

    def prepare(self, values: Mapping[str, DeviceValue], extents: Mapping[str, int], where: Device) -> PreparedCall:
        """Returns a call for operands of these shapes, and this structure.

        Args:
            values: the operands by name, all on the device.
            extents: how far each index variable runs.
            where: the device.

        Raises:
            UnsupportedError: for a device of another chip, and PTX that its driver is too old for.
            DeviceError: for PTX that the driver refuses, with what it says.
        """
        check_chip(self.program.chip, where)
        views = tuple((name, _viewed(values[operand])) for name, operand in self.views.items())
        values = {**values, **dict(views)}
        made = tuple(_room(one, values, extents) for one in self.program.makes)
        counts = _Counts(values, {room.name: room.shape for room in made}, extents)
        places = _Places((*self.operands, *self.views), values, made)
        launches = []
        for launch in self.program.launches(counts):
            parameters = tuple(_filled(parameter, places, counts) for parameter in launch.parameters)
            grid = launch.blocks(counts)
            if all(grid):
                launches.append((self._function(launch.kernel, where), grid, launch.block, parameters))
        viewed = tuple(self.operands.index(operand) for operand in self.views.values())
        return PreparedCall(where, tuple(launches), viewed, made, self.program.result)


def _viewed(value: DeviceValue) -> DeviceTensor:
    assert isinstance(value, DeviceTensor)
    return level_view_of(value)


@dataclass(frozen=True, slots=True)
class _Room:
    """A value that a call makes: an array, or numbers over the structure of an operand."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    operand: int | None = None  # whose structure it has
    start: int | None = None  # which operand's values it begins with


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call of which all but the addresses is known.

    Args:
        where: the device.
        launches: (kernel, grid, block, parameters) with, for each parameter, whether it is an address, and its number
            or place among the addresses.
        views: which operands are read over their levels as well.
        made: what to reserve.
        result: the name of the value to return.
    """

    where: Device
    launches: tuple[
        tuple[_cuda.Function, tuple[int, int, int], tuple[int, int, int], tuple[tuple[bool, int], ...]], ...
    ]
    views: tuple[int, ...]
    made: tuple[_Room, ...]
    result: str

    def run(self, operands: Sequence[DeviceValue], out: DeviceArray | None) -> DeviceValue:
        """Launches the kernels on the current stream, and returns without waiting for them.

        Args:
            operands: the operands, as the call was prepared for.
            out: where a dense result goes; it shares no memory with the operands.
        """
        stream = current_stream()
        addresses: list[int] = []
        values = (*operands, *(_viewed(operands[at]) for at in self.views))
        for operand in values:
            for array in operand._arrays if isinstance(operand, DeviceTensor) else (operand,):
                addresses.append(array.pointer if array._stream == stream else array.use())
        returned: DeviceValue | None = None
        kept = []  # temporaries live until all is launched: their memory is reused in the order of the stream
        for room in self.made:
            given = out is not None and room.name == self.result
            array = out if given and out is not None else empty(room.shape, room.dtype, self.where)
            addresses.append(array.pointer if array._stream == stream else array.use(writes=True))
            kept.append(array)
            if room.start is not None:
                _begin(values[room.start], array)
            if room.name == self.result:
                returned = array if room.operand is None else _over(values[room.operand], array)
        number = self.where.number
        for function, grid, block, parameters in self.launches:
            filled = tuple([addresses[value] if is_address else value for is_address, value in parameters])
            function.launch(number, grid, block, 0, stream, filled)
        assert returned is not None
        return returned


def _begin(operand: DeviceValue, array: DeviceArray) -> None:
    """Gives a result that is added to what the operand holds."""
    assert isinstance(operand, DeviceArray)
    if operand.pointer != array.pointer:
        operand.copy_into(array)


def _over(operand: DeviceValue, numbers: DeviceArray) -> DeviceTensor:
    assert isinstance(operand, DeviceTensor)
    return operand._with_values(numbers)


def _room(one: MakeArray | MakeShared, values: Mapping[str, DeviceValue], extents: Mapping[str, int]) -> _Room:
    match one:
        case MakeArray():
            start = list(values).index(one.name) if one.name in values else None
            return _Room(one.name, one.dtype.numpy, tuple(extents[axis.variable] for axis in one.shape), start=start)
        case MakeShared():
            operand = values[one.operand]
            assert isinstance(operand, DeviceTensor)
            return _Room(one.name, one.dtype.numpy, (operand._arrays[-1].size,), list(values).index(one.operand))
        case _:
            assert_never(one)


class _Places:
    """Where the address of each buffer stands among all of a call."""

    def __init__(self, operands: Sequence[str], values: Mapping[str, DeviceValue], made: Sequence[_Room]) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        at = 0
        for name in operands:
            value = values[name]
            self._first[name] = at
            at += len(value._arrays) if isinstance(value, DeviceTensor) else 1
        for room in made:
            self._first[room.name] = at
            if room.operand is not None:
                self._last[room.name] = self._first[operands[room.operand]]
            at += 1
        self._values = values

    def array(self, name: str) -> int:
        return self._first[name]

    def buffer(self, name: str, number: int) -> int:
        structure = self._last.get(name)
        if structure is None:
            return self._first[name] + number
        # All but the values of a result over the structure of an operand are the operand's.
        owner = next(value for key, value in self._values.items() if self._first[key] == structure)
        assert isinstance(owner, DeviceTensor)
        return self._first[name] if number == len(owner._arrays) - 1 else structure + number


def _filled(parameter: Parameter, places: _Places, counts: _Counts) -> tuple[bool, int]:
    match parameter:
        case LevelBuffer(name, number):
            return True, places.buffer(name, number)
        case Array(name):
            return True, places.array(name)
        case _:
            return False, counts(parameter)


class _Counts:
    """The numbers that grids and kernels go by, of one call."""

    def __init__(
        self, values: Mapping[str, DeviceValue], made: Mapping[str, tuple[int, ...]], extents: Mapping[str, int]
    ) -> None:
        self._values, self._made, self._extents = values, made, extents

    def __call__(self, count: Count) -> int:
        match count:
            case Fixed(value):
                return value
            case Extent(variable):
                return self._extents[variable]
            case AxisSize(name, axis):
                return self._made[name][axis] if name in self._made else self._values[name].shape[axis]
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
            case _:
                assert_never(count)

    def _tensor(self, name: str) -> DeviceTensor:
        value = self._values[name]
        assert isinstance(value, DeviceTensor)
        return value


def _buffer(tensor: DeviceTensor, level: int, kind: str) -> DeviceArray:
    return tensor._arrays[_order(tensor.encoding).index((level, kind))]


def _order(encoding: Encoding) -> list[tuple[int, str]]:
    """Returns the level and kind of each buffer but the values, as `LevelStorage.buffers` has them."""
    found: list[tuple[int, str]] = []
    for level, kind in enumerate(encoding.level_types):
        if kind.has_positions:
            found.append((level, "positions"))
        if kind.has_coordinates and level not in encoding.aos_levels[1:]:
            found.append((level, "coordinates"))
    return found


def _stored(tensor: DeviceTensor, level: int) -> int:
    together = tensor.encoding.aos_levels
    if level in together:
        return _buffer(tensor, together[0], "coordinates").size // len(together)
    return _buffer(tensor, level, "coordinates").size


def _longest(tensor: DeviceTensor, level: int) -> int:
    """Returns the most coordinates below one position; the positions are read from the device once a tensor."""
    key = ("longest", level)
    found = tensor._kept.get(key)
    if not isinstance(found, int):
        positions = _buffer(tensor, level, "positions").to_numpy().astype(np.int64, copy=False)
        found = tensor._kept[key] = int(np.diff(positions).max(initial=0))
    return found
