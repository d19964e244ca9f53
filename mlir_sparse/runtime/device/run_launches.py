"""Runs GPU programs: launches kernels on buffers in device memory.

Grids, blocks and sizes depend on shapes and structure only. They are computed for the first call with some operands;
later calls only fill in addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.classes import dataclass
from mlir_sparse.device import Device, DeviceArray, chip_of, current_stream, empty
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import level_buffers
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.forks import cached_property
from mlir_sparse.program import FibreView, LevelSpaceView
from mlir_sparse.program.launch_program import LaunchProgram, MakeArray, MakeAssembled, MakeBegins, MakeShared
from mlir_sparse.program.launch_values import Array, Launch, LevelBuffer, Parameter, chosen
from mlir_sparse.program.size_values import Stored
from mlir_sparse.runtime.device.device_result_buffers import AssembledResult, Prepared, SharedLevelsResult
from mlir_sparse.runtime.device.device_sizes import Counts
from mlir_sparse.runtime.device.run_library_products import DeviceValue
from mlir_sparse.tensor import DeviceTensor
from mlir_sparse.tensor.device_fibres import fibres_on_device
from mlir_sparse.tensor.device_tensor import level_view_of
from mlir_sparse.tensor.widths import width_dtype

__all__ = ["DeviceProgram", "PreparedCall", "check_chip"]

_CHIP = re.compile(r"sm_(\d+)([a-z]?)")


def check_chip(chip: str, where: Device) -> None:
    """Raises UnsupportedError if a device cannot run code for a chip."""
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
    """A compiled GPU program, loaded once on each device that it runs on.

    Args:
        program: the launches.
        operands: the names of the operands, in the order of a call.
        label: its name in messages.
    """

    def __init__(self, program: LaunchProgram, operands: Sequence[str], label: str) -> None:
        self.program, self.operands, self._label = program, tuple(operands), label

    def __reduce__(self) -> tuple[Any, ...]:
        # Handles of the driver are left out: another process loads the PTX again.
        return DeviceProgram, (self.program, self.operands, self._label)

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
        """Returns a call for operands with these shapes, structures and alignments.

        Args:
            values: the operands by name, all on the device.
            extents: the extent of each index variable.
            where: the device.
            out: an array for a dense result; the call accepts one with the same alignment, or none.

        Raises:
            UnsupportedError: for a device of another chip, and PTX too new for its driver.
            DeviceError: for PTX that the driver refuses, with its message.
        """
        check_chip(self.program.chip, where)
        views = {view.result: _view(values[view.operand], view) for view in self.program.views}
        values = {**values, **views}
        fibres = (view for view in self.program.views if isinstance(view, FibreView))
        extents = {**extents, **{view.variable: views[view.result].shape[0] for view in fibres}}
        temporaries = tuple(_new_value(one, values, extents) for one in self.program.makes)
        given = {} if out is None else {self.program.result: out}
        # A value that shares an operand's structure has its counts.
        shared = {new.name: list(values.values())[new.operand] for new in temporaries if new.operand is not None}
        counts = Counts({**values, **shared}, {new.name: new.shape for new in temporaries}, extents, given)
        assembled = self.program.assembled
        places = _Places((*self.operands, *views), values, temporaries, assembled)
        launches = self._prepared(self.program.launches(counts), places, counts, where)
        viewed = tuple((self.operands.index(view.operand), view) for view in self.program.views)
        filled = None
        if assembled is not None:
            names = [new.name for new in temporaries]
            filling = self._prepared(chosen(assembled.steps, counts), places, counts, where)
            shape = tuple(extents[axis.variable] for axis in assembled.shape)
            totals = tuple(map(names.index, assembled.totals))
            filled = AssembledResult(assembled, shape, totals, names.index(assembled.begins), filling)
        rows = self._rows(temporaries, extents)
        return PreparedCall(where, launches, viewed, temporaries, self.program.result, filled, rows)

    def _rows(self, temporaries: Sequence[_NewValue], extents: Mapping[str, int]) -> SharedLevelsResult | None:
        """Returns a result of computed rows, if the program has one."""
        rows = self.program.rows
        if rows is None:
            return None
        shape = tuple(extents[variable] for variable in rows.variables)
        place = [new.name for new in temporaries].index(rows.operand)
        return SharedLevelsResult(self.operands.index(rows.structure), rows.depth, rows.encoding, shape, place)

    def _prepared(
        self, launches: Sequence[Launch], places: _Places, counts: Counts, where: Device
    ) -> tuple[Prepared, ...]:
        """Returns launches with everything except addresses filled in, without launches of zero blocks."""
        found = []
        for launch in launches:
            parameters = tuple(_filled(parameter, places, counts) for parameter in launch.parameters)
            grid = launch.blocks(counts)
            if all(grid):
                found.append((self._function(launch.kernel, where), grid, launch.block, parameters))
        return tuple(found)


def _view(value: DeviceValue, view: LevelSpaceView | FibreView) -> DeviceTensor:
    assert isinstance(value, DeviceTensor)
    match view:
        case LevelSpaceView():
            return level_view_of(value)
        case FibreView():
            return fibres_on_device(value, view.depth, view.encoding)
        case _:
            assert_never(view)


@dataclass(frozen=True, slots=True)
class _NewValue:
    """A value that a call allocates: an array, or values on the structure of an operand."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    operand: int | None = None  # the operand whose structure it shares
    fibres: tuple[Encoding, tuple[int, ...]] | None = None  # its encoding and shape if it shares the first levels only
    start: int | None = None  # the operand whose values it is initialised with


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call with everything except addresses filled in.

    Args:
        where: the device.
        launches: (kernel, grid, block, parameters), see `Prepared`.
        views: the operands with views, and the views.
        temporaries: the values to allocate.
        result: the name of the value to return.
        assembled: the result, if its structure is new.
        rows: the result, if its rows are computed.
    """

    where: Device
    launches: tuple[Prepared, ...]
    views: tuple[tuple[int, LevelSpaceView | FibreView], ...]
    temporaries: tuple[_NewValue, ...]
    result: str
    assembled: AssembledResult | None = None
    rows: SharedLevelsResult | None = None

    def run(self, operands: Sequence[DeviceValue], out: DeviceArray | None) -> DeviceValue:
        """Launches the kernels on the current stream, and returns without waiting for them.

        It only waits for the symbolic phase of a result with a new structure.

        Args:
            operands: operands like those that the call was prepared for.
            out: an array for a dense result, which shares no memory with the operands.
        """
        stream = current_stream()
        addresses: list[int] = []
        values = (*operands, *(_view(operands[at], view) for at, view in self.views))
        for operand in values:
            for array in operand._arrays if isinstance(operand, DeviceTensor) else (operand,):
                addresses.append(array.pointer if array._stream == stream else array.use())
        returned: DeviceValue | None = None
        kept = []  # temporaries live until all launches: the stream then reuses their memory in order
        for new in self.temporaries:
            given = out is not None and new.name == self.result
            array = out if given and out is not None else empty(new.shape, new.dtype, self.where)
            addresses.append(array.pointer if array._stream == stream else array.use(writes=True))
            kept.append(array)
            if new.start is not None:
                _begin(values[new.start], array)
            if new.name == self.result:
                returned = array if new.operand is None else _over(values[new.operand], array, new.fibres)
        self._launch(self.launches, addresses, stream)
        if self.assembled is not None:
            returned = self.assembled.reserve(kept, self.where)
            addresses += [array.pointer for array in returned._arrays]
            self._launch(self.assembled.launches, addresses, stream)
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
    """Initialises a result that accumulates into an operand's values."""
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


def _new_value(
    one: MakeArray | MakeBegins | MakeShared, values: Mapping[str, DeviceValue], extents: Mapping[str, int]
) -> _NewValue:
    counts = Counts(values, {}, extents)
    match one:
        case MakeArray():
            start = list(values).index(one.name) if one.name in values else None
            return _NewValue(one.name, one.dtype.numpy, tuple(map(counts, one.shape)), start=start)
        case MakeBegins():
            return _NewValue(one.name, width_dtype(one.width), (counts(one.size),))
        case MakeShared():
            operand = values[one.operand]
            assert isinstance(operand, DeviceTensor)
            place = list(values).index(one.operand)
            if one.encoding is None:
                return _NewValue(one.name, one.dtype.numpy, (operand._arrays[-1].size,), place)
            fibres = counts(Stored(one.operand, one.encoding.lvl_rank - 1))
            shape = tuple(map(counts, one.shape))
            return _NewValue(one.name, one.dtype.numpy, (fibres,), place, (one.encoding, shape))
        case _:
            assert_never(one)


class _Places:
    """The index of each buffer's address among all addresses of a call."""

    def __init__(
        self,
        operands: Sequence[str],
        values: Mapping[str, DeviceValue],
        temporaries: Sequence[_NewValue],
        assembled: MakeAssembled | None,
    ) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, tuple[int, int]] = {}
        at = 0
        for name in operands:
            value = values[name]
            self._first[name] = at
            at += len(value._arrays) if isinstance(value, DeviceTensor) else 1
        for new in temporaries:
            self._first[new.name] = at
            if new.operand is not None:
                owner = values[operands[new.operand]]
                assert isinstance(owner, DeviceTensor)
                structure = len(owner._arrays) - 1 if new.fibres is None else len(level_buffers(new.fibres[0]))
                self._last[new.name] = (self._first[operands[new.operand]], structure)
            at += 1
        if assembled is not None:
            self._first[assembled.name] = at

    def array(self, name: str) -> int:
        return self._first[name]

    def buffer(self, name: str, number: int) -> int:
        structure = self._last.get(name)
        if structure is None:
            return self._first[name] + number
        # A result on the structure of an operand has the operand's buffers, except for the values.
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
