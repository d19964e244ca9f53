"""Launch programs run on the CPU: what a driver would do with them, by the emulator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dialect_tests.gpu.emulator import Emulated
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.encoding import Encoding
from mlir_sparse.program import FibreView, SharedLevels
from mlir_sparse.program import launch_values as data
from mlir_sparse.program import size_values as sizes
from mlir_sparse.program.launch_program import LaunchProgram, MakeArray, MakeAssembled, MakeBegins, MakeShared
from mlir_sparse.runtime.call_arguments import buffer_dtypes
from mlir_sparse.spec import infer_extents
from mlir_sparse.tensor import LevelStorage, SparseTensor
from mlir_sparse.tensor.level_view import level_view
from mlir_sparse.tensor.stored_fibres import fibres_of, of_rows
from mlir_sparse.tensor.widths import width_dtype

__all__ = ["run_cases"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


def run_cases(
    build: GpuBuild, values: Mapping[str, Value], *, out: Array | None = None, most: int = 3
) -> dict[int, Value]:
    """Runs a kernel in every way that a call could choose, for these operands.

    Args:
        build: the kernel.
        values: the operands.
        out: what the result holds before, where the assignment adds to it.
        most: blocks along each axis: few, so that all loops stride.

    Returns:
        the results by the number of the case; that of the case which a call would choose by 0 as well.
    """
    emulated, program = _emulated(build), build.emulated
    cases = max((len(step.cases) for step in program.steps if isinstance(step, data.Choice)), default=1)
    calls = {number: _Call(build, program, emulated, values, out, most) for number in range(-1, cases)}
    return {number: call.run(number) for number, call in calls.items() if call.is_right(number)}


@lru_cache(maxsize=8)
def _emulated(build: GpuBuild) -> Emulated:
    return Emulated(build.llvm_ir)


def _junk(count: int, dtype: np.dtype[Any]) -> Array:
    """Returns new memory: nothing may be taken for granted of it."""
    return np.frombuffer(bytearray(b"\x5a" * (count * dtype.itemsize)), dtype)


class _Call:
    def __init__(
        self,
        build: GpuBuild,
        program: LaunchProgram,
        emulated: Emulated,
        values: Mapping[str, Value],
        out: Array | None,
        most: int,
    ) -> None:
        self.program, self.emulated, self.most = program, emulated, most
        self.values = dict(values)
        shapes = {name: value.shape for name, value in values.items()}
        found = infer_extents(build.spec.assignment, shapes, None if out is None else out.shape, None)
        self.extents = {variable.name: extent for variable, extent in found.items()}
        for view in program.views:
            viewed = self.values[view.operand]
            assert isinstance(viewed, SparseTensor)
            if not isinstance(view, FibreView):
                self.values[view.result] = level_view(viewed)
                continue
            self.values[view.result] = fibres = fibres_of(viewed, view.depth, view.encoding)
            self.extents[view.variable] = fibres.shape[0]
        for make in program.makes:
            self.values[make.name] = self._made(make, out)

    def _made(self, make: MakeArray | MakeBegins | MakeShared, out: Array | None) -> Value:
        if isinstance(make, MakeBegins):
            return _junk(self.value_of(make.size), width_dtype(make.width))
        if isinstance(make, MakeArray):
            if out is not None and make.name == self.program.result:
                return out.copy()
            if make.name in self.values:  # what an operand holds is added to
                return np.array(self.values[make.name])
            shape = tuple(self.value_of(size) for size in make.shape)
            return _junk(math.prod(shape), make.dtype.numpy).reshape(shape)
        operand = self.values[make.operand]
        assert isinstance(operand, SparseTensor)
        if make.encoding is not None:
            return self._fibres(operand, make, make.encoding)
        *structure, old = operand.storage.buffers()
        values = _junk(len(old), make.dtype.numpy)
        storage = LevelStorage.from_buffers(operand.encoding, operand.storage.level_sizes, (*structure, values))
        return SparseTensor._trusted(operand.encoding, operand.shape, storage)

    def _fibres(self, operand: SparseTensor, make: MakeShared, encoding: Encoding) -> SparseTensor:
        """Returns a result over the first levels of an operand."""
        last = encoding.lvl_rank - 1
        values = _junk(self.value_of(sizes.Stored(make.operand, last)), make.dtype.numpy)
        levels = zip(operand.storage.positions[: last + 1], operand.storage.coordinates, strict=False)
        structure = [buffer for pair in levels for buffer in pair if buffer is not None]
        shape = tuple(map(self.value_of, make.shape))
        storage = LevelStorage.from_buffers(encoding, encoding.level_sizes(shape), (*structure, values))
        return SparseTensor._trusted(encoding, shape, storage)

    def value_of(self, count: sizes.Count) -> int:
        """Returns a number as a driver reads it off the operands."""
        match count:
            case sizes.Fixed(value):
                return value
            case sizes.Extent(variable):
                return self.extents[variable]
            case sizes.Address(name):
                array = self.values[name]
                assert isinstance(array, np.ndarray)
                return int(array.ctypes.data) % 16
            case sizes.AxisSize(name, axis):
                return self.values[name].shape[axis]
            case sizes.Product(factors, more):
                return math.prod(map(self.value_of, factors)) + more
            case sizes.Parts(pieces):
                return count.number(self.value_of(pieces))
        value = self.values[count.tensor]
        assert isinstance(value, SparseTensor)
        storage = value.storage
        match count:
            case sizes.Start(_, dim):
                low, _ = value.encoding.level_space().dim_bounds[dim]
                return min(0, int(low.evaluate((), value.shape)))
            case sizes.LevelSize(_, level):
                return storage.level_sizes[level]
            case sizes.Stored(_, level):
                coordinates = storage.coordinates[level]
                return len(storage.values) if coordinates is None else len(coordinates)
            case sizes.Positions(_, level):
                positions = storage.positions[level]
                assert positions is not None
                return len(positions)
            case sizes.Longest(_, level):
                positions = storage.positions[level]
                assert positions is not None
                return int(np.diff(positions.astype(np.int64)).max(initial=0))

    def is_right(self, number: int) -> bool:
        """Returns whether a case is one that operands like these may be given to."""
        if number < 0:
            return True
        choices = [step for step in self.program.steps if isinstance(step, data.Choice)]
        taken = [step.cases[min(number, len(step.cases) - 1)][0] for step in choices]
        needs = [test for tests in taken for test in tests if isinstance(test, sizes.Whole)]
        return all(need.holds(self.value_of) for need in needs)

    def _address(self, parameter: data.Parameter) -> int:
        match parameter:
            case data.Array(name):
                array = self.values[name]
                assert isinstance(array, np.ndarray)
                return int(array.ctypes.data)
            case data.LevelBuffer(name, number):
                tensor = self.values[name]
                assert isinstance(tensor, SparseTensor)
                return int(tensor.storage.buffers()[number].ctypes.data)
            case _:
                return self.value_of(parameter)

    def run(self, number: int) -> Value:
        self._run(self.program.steps, number)
        own = self.program.assembled
        if own is not None:
            self.values[own.name] = self._reserved(own)
            self._run(own.steps, number)
        if self.program.rows is not None:
            return self._over(self.program.rows)
        return self.values[self.program.result]

    def _over(self, result: SharedLevels) -> SparseTensor:
        """Returns a result of computed rows."""
        rows, operand = self.values[result.operand], self.values[result.structure]
        assert isinstance(rows, np.ndarray)
        assert isinstance(operand, SparseTensor)
        shape = tuple(self.value_of(sizes.Extent(variable)) for variable in result.variables)
        return of_rows(rows, operand, result.depth, result.encoding, shape)

    def _reserved(self, own: MakeAssembled) -> SparseTensor:
        """Returns a result of as many entries as were counted, nothing but its positions filled."""
        begins, shape = self.values[own.begins], tuple(map(self.value_of, own.shape))
        assert isinstance(begins, np.ndarray)
        entries = [int(np.asarray(self.values[total])[-1]) for total in own.totals]
        kinds = buffer_dtypes(own.encoding, own.dtype)
        buffers = [_junk(length, kind) for length, kind in zip(own.lengths(entries), kinds, strict=True)]
        counted = own.encoding.level_types[0].has_coordinates
        buffers[0] = np.array([0, entries[0]], kinds[0]) if counted else begins
        for positions in buffers[2:-1:2]:
            positions[0] = 0
        storage = LevelStorage.from_buffers(own.encoding, own.encoding.level_sizes(shape), tuple(buffers))
        return SparseTensor._trusted(own.encoding, shape, storage)

    def _run(self, steps: Sequence[data.Launch | data.Choice], number: int) -> None:
        for step in steps:
            if isinstance(step, data.Launch):
                launches: tuple[data.Launch, ...] = (step,)
            elif number < 0:
                launches = step.chosen(self.value_of)
            else:
                launches = step.cases[min(number, len(step.cases) - 1)][1]
            for launch in launches:
                self._launch(launch)

    def _launch(self, launch: data.Launch) -> None:
        blocks = tuple(min(count, self.most) for count in launch.blocks(self.value_of))
        if all(blocks):
            parameters = [self._address(parameter) for parameter in launch.parameters]
            self.emulated.launch(launch.kernel, blocks, launch.block, parameters)
