"""Programs that run on a device: launches of kernels in PTX, over buffers that stay there.

What a call needs beside addresses (grids, blocks, sizes) depends on shapes and structure alone.
It is worked out when operands are first seen, so that a later call only fills in addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device import Device, DeviceArray, chip_of, current_stream, empty
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import level_buffers
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.forks import cached_property
from mlir_sparse.program.launch_values import (
    Array,
    Launch,
    LaunchProgram,
    LevelBuffer,
    MakeArray,
    MakeBegins,
    MakeOwn,
    MakeShared,
    Parameter,
    View,
    chosen,
)
from mlir_sparse.program.size_values import Stored
from mlir_sparse.runtime.device.device_result_buffers import OwnResult, Prepared, RowsResult
from mlir_sparse.runtime.device.device_sizes import Counts
from mlir_sparse.runtime.device.vendor_products_run import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_fibres import fibres_on_device
from mlir_sparse.tensor.device_tensor import level_view_of
from mlir_sparse.tensor.widths import width_dtype

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
        views: how operands are read that are not read as they are, by the names that launches have for them.
        label: what messages call it.
    """

    def __init__(
        self,
        program: LaunchProgram,
        operands: Sequence[str],
        views: Mapping[str, View],
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

    def prepare(
        self,
        values: Mapping[str, DeviceValue],
        extents: Mapping[str, int],
        where: Device,
        out: DeviceArray | None = None,
    ) -> PreparedCall:
        """Returns a call for operands of these shapes, this structure, and arrays aligned to as many bytes.

        Args:
            values: the operands by name, all on the device.
            extents: how far each index variable runs.
            where: the device.
            out: where a dense result goes; one as aligned, or none, may be given to the call.

        Raises:
            UnsupportedError: for a device of another chip, and PTX that its driver is too old for.
            DeviceError: for PTX that the driver refuses, with what it says.
        """
        check_chip(self.program.chip, where)
        views = {name: _viewed(values[view.operand], view) for name, view in self.views.items()}
        values = {**values, **views}
        extents = {**extents, **{view.variable: views[name].shape[0] for name, view in self.views.items()}}
        made = tuple(_room(one, values, extents) for one in self.program.makes)
        given = {} if out is None else {self.program.result: out}
        # The levels of what shares a structure are as those of the operand.
        shared = {room.name: list(values.values())[room.operand] for room in made if room.operand is not None}
        counts = Counts({**values, **shared}, {room.name: room.shape for room in made}, extents, given)
        own = self.program.own
        places = _Places((*self.operands, *self.views), values, made, own)
        launches = self._prepared(self.program.launches(counts), places, counts, where)
        viewed = tuple((self.operands.index(view.operand), view) for view in self.views.values())
        filled = None
        if own is not None:
            names = [room.name for room in made]
            filling = self._prepared(chosen(own.steps, counts), places, counts, where)
            shape = tuple(extents[axis.variable] for axis in own.shape)
            filled = OwnResult(own, shape, tuple(map(names.index, own.totals)), names.index(own.begins), filling)
        rows = self._rows(made, extents)
        return PreparedCall(where, launches, viewed, made, self.program.result, filled, rows)

    def _rows(self, made: Sequence[_Room], extents: Mapping[str, int]) -> RowsResult | None:
        """Returns the result where rows of it are computed."""
        rows = self.program.rows
        if rows is None:
            return None
        shape = tuple(extents[variable] for variable in rows.variables)
        place = [room.name for room in made].index(rows.operand)
        return RowsResult(self.operands.index(rows.structure), rows.depth, rows.encoding, shape, place)

    def _prepared(
        self, launches: Sequence[Launch], places: _Places, counts: Counts, where: Device
    ) -> tuple[Prepared, ...]:
        """Returns launches with all but addresses filled in; those of no block are left out."""
        found = []
        for launch in launches:
            parameters = tuple(_filled(parameter, places, counts) for parameter in launch.parameters)
            grid = launch.blocks(counts)
            if all(grid):
                found.append((self._function(launch.kernel, where), grid, launch.block, parameters))
        return tuple(found)


def _viewed(value: DeviceValue, view: View) -> DeviceTensor:
    assert isinstance(value, DeviceTensor)
    return level_view_of(value) if view.encoding is None else fibres_on_device(value, view.depth, view.encoding)


@dataclass(frozen=True, slots=True)
class _Room:
    """A value that a call makes: an array, or numbers over the structure of an operand."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    operand: int | None = None  # whose structure it has
    fibres: tuple[Encoding, tuple[int, ...]] | None = None  # its storage and shape where it has the first levels only
    start: int | None = None  # which operand's values it begins with


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call of which all but the addresses is known.

    Args:
        where: the device.
        launches: (kernel, grid, block, parameters) with, for each parameter, whether it is an address, and its number
            or place among the addresses.
        views: which operands are read in another way as well, and how.
        made: what to reserve.
        result: the name of the value to return.
        own: the result, where its structure is its own.
        rows: the result, where rows of it are computed.
    """

    where: Device
    launches: tuple[Prepared, ...]
    views: tuple[tuple[int, View], ...]
    made: tuple[_Room, ...]
    result: str
    own: OwnResult | None = None
    rows: RowsResult | None = None

    def run(self, operands: Sequence[DeviceValue], out: DeviceArray | None) -> DeviceValue:
        """Launches the kernels on the current stream, and returns without waiting for them.

        A result with a structure of its own is waited for in between: until its entries are counted.

        Args:
            operands: the operands, as the call was prepared for.
            out: where a dense result goes; it shares no memory with the operands.
        """
        stream = current_stream()
        addresses: list[int] = []
        values = (*operands, *(_viewed(operands[at], view) for at, view in self.views))
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
                returned = array if room.operand is None else _over(values[room.operand], array, room.fibres)
        self._launch(self.launches, addresses, stream)
        if self.own is not None:
            returned = self.own.reserve(kept, self.where)
            addresses += [array.pointer for array in returned._arrays]
            self._launch(self.own.launches, addresses, stream)
        if self.rows is not None:
            returned = self.rows.over(operands, kept)
        assert returned is not None
        return returned

    def _launch(self, launches: Sequence[Prepared], addresses: Sequence[int], stream: int) -> None:
        number = self.where.number
        for function, grid, block, parameters in launches:
            filled = tuple([addresses[value] if is_address else value for is_address, value in parameters])
            function.launch(number, grid, block, 0, stream, filled)


def _begin(operand: DeviceValue, array: DeviceArray) -> None:
    """Gives a result that is added to what the operand holds."""
    assert isinstance(operand, DeviceArray)
    if operand.pointer != array.pointer:
        operand.copy_into(array)


def _over(operand: DeviceValue, numbers: DeviceArray, fibres: tuple[Encoding, tuple[int, ...]] | None) -> DeviceTensor:
    assert isinstance(operand, DeviceTensor)
    if fibres is None:
        return operand._with_values(numbers)
    encoding, shape = fibres
    arrays = (*operand._arrays[: len(level_buffers(encoding))], numbers)
    return DeviceTensor._from_parts(encoding, shape, encoding.level_sizes(shape), arrays, numbers.size)


def _room(
    one: MakeArray | MakeBegins | MakeShared, values: Mapping[str, DeviceValue], extents: Mapping[str, int]
) -> _Room:
    counts = Counts(values, {}, extents)
    match one:
        case MakeArray():
            start = list(values).index(one.name) if one.name in values else None
            return _Room(one.name, one.dtype.numpy, tuple(map(counts, one.shape)), start=start)
        case MakeBegins():
            return _Room(one.name, width_dtype(one.width), (counts(one.size),))
        case MakeShared():
            operand = values[one.operand]
            assert isinstance(operand, DeviceTensor)
            place = list(values).index(one.operand)
            if one.encoding is None:
                return _Room(one.name, one.dtype.numpy, (operand._arrays[-1].size,), place)
            fibres = counts(Stored(one.operand, one.encoding.lvl_rank - 1))
            shape = tuple(map(counts, one.shape))
            return _Room(one.name, one.dtype.numpy, (fibres,), place, (one.encoding, shape))
        case _:
            assert_never(one)


class _Places:
    """Where the address of each buffer stands among all of a call."""

    def __init__(
        self, operands: Sequence[str], values: Mapping[str, DeviceValue], made: Sequence[_Room], own: MakeOwn | None
    ) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, tuple[int, int]] = {}
        at = 0
        for name in operands:
            value = values[name]
            self._first[name] = at
            at += len(value._arrays) if isinstance(value, DeviceTensor) else 1
        for room in made:
            self._first[room.name] = at
            if room.operand is not None:
                owner = values[operands[room.operand]]
                assert isinstance(owner, DeviceTensor)
                structure = len(owner._arrays) - 1 if room.fibres is None else len(level_buffers(room.fibres[0]))
                self._last[room.name] = (self._first[operands[room.operand]], structure)
            at += 1
        if own is not None:
            self._first[own.name] = at

    def array(self, name: str) -> int:
        return self._first[name]

    def buffer(self, name: str, number: int) -> int:
        structure = self._last.get(name)
        if structure is None:
            return self._first[name] + number
        # All but the values of a result over the structure of an operand are the operand's.
        first, count = structure
        return self._first[name] if number == count else first + number


def _filled(parameter: Parameter, places: _Places, counts: Counts) -> tuple[bool, int]:
    match parameter:
        case LevelBuffer(name, number):
            return True, places.buffer(name, number)
        case Array(name):
            return True, places.array(name)
        case _:
            return False, counts(parameter)
