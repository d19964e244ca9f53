"""Programs that run: calls of compiled functions and native conversions, over named values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import OperandError, WidthError
from mlir_sparse.runtime.abi import operand_of, sparse_result
from mlir_sparse.runtime.ahead import LoadedModule
from mlir_sparse.runtime.jit import CompiledModule
from mlir_sparse.runtime.results import Buffers, assemble
from mlir_sparse.tensor import SparseTensor, level_view, tensor
from mlir_sparse.tensor.memory import check_fits
from mlir_sparse.tensor.pick import Gathered, Place, pick
from mlir_sparse.tensor.position import position
from mlir_sparse.tensor.widths import check_width

__all__ = ["Call", "Convert", "Executable", "Extent", "Pick", "Position", "Stage", "View"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a compiled function.

    Args:
        launcher: the function.
        operands: the names of the values it reads.
        axes: for each operand the index variable of each axis, None where the subscript is no plain variable.
        frames: (variable, tensor, dim) of each variable that runs beyond the edges of a tensor in level space.
        result: the name of the value it computes.
        variables: the index variable of each axis of the result.
        dtype: the result's element type.
        encoding: the result's storage; None for a dense array.
        continues: whether it adds to what the result holds.
        buffers: how a sparse result is laid out; None for a dense one.
        bound: returns a number that the entries of a sparse result do not exceed, from the entries of the sparse
            operands and the extents of the index variables.
    """

    launcher: _native.Launcher
    operands: tuple[str, ...]
    axes: tuple[tuple[str | None, ...], ...]
    frames: tuple[tuple[str, str, int], ...]
    result: str
    variables: tuple[str, ...]
    dtype: DType
    encoding: Encoding | None
    continues: bool
    buffers: Buffers | None
    bound: Callable[[Mapping[str, int], Mapping[str, int]], int]


@dataclass(frozen=True, slots=True)
class Convert:
    """A native change of storage or element type.

    Args:
        result: the name of the value it makes.
        operand: the name of the value it reads.
        type: what to make of it.
        drop_zeros: whether explicit zeros go.
        missing: the value of a dense array's elements that are no entries.
    """

    result: str
    operand: str
    type: TensorType
    drop_zeros: bool
    missing: complex = 0


@dataclass(frozen=True, slots=True)
class View:
    """A tensor seen over its levels; nothing is copied that the storage has."""

    result: str
    operand: str


@dataclass(frozen=True, slots=True)
class Extent:
    """A vector as long as an index variable runs; loops take their bounds from it, and nobody reads it."""

    result: str
    variable: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Pick:
    """The elements of a tensor at places that other tensors, or sums of index variables, name.

    Args:
        result: the name of the tensor over the variables of the subscripts.
        operand: the tensor.
        places: a subscript for each of its dimensions.
        encoding: the storage of the result; None for an array.
    """

    result: str
    operand: str
    places: tuple[Place, ...]
    encoding: Encoding | None


@dataclass(frozen=True, slots=True)
class Position:
    """The first position of the greatest or least value along the last axis."""

    result: str
    operand: str
    greatest: bool


Stage = Call | Convert | View | Extent | Pick | Position


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled program.

    Args:
        stages: what to run, in order.
        result: the name of the value to return.
        module: the machine code that the launchers point into.
    """

    stages: tuple[Stage, ...]
    result: str
    module: CompiledModule | LoadedModule = field(repr=False)

    @property
    def direct(self) -> _native.Launcher | None:
        """Returns the function of a program that is one call with a dense result; None for any other.

        A sparse result is allocated by the call itself, which is checked for room first.
        """
        match self.stages:
            case (Call(launcher=launcher, encoding=None),):
                return launcher
            case _:
                return None

    def run(self, inputs: Mapping[str, Value], extents: Mapping[str, int], out: Array | None) -> Value:
        """Runs the program on checked inputs.

        Args:
            inputs: C-contiguous arrays and tensors of the types the program was compiled for.
            extents: how far each index variable runs.
            out: where a dense result goes; a contiguous array that shares no memory with the inputs.

        Returns:
            the result: `out` if given, else a new array or tensor.
        """
        values: dict[str, Value] = dict(inputs)
        if out is not None:
            values[self.result] = out
        for stage in self.stages:
            match stage:
                case Convert(result, operand):
                    values[result] = _convert(values[operand], stage)
                case View(result, operand):
                    values[result] = _view(values[operand])
                case Extent(result, variable, dtype):
                    values[result] = _empty((extents[variable],), dtype)
                case Pick(result):
                    values[result] = _pick(stage, values, extents)
                case Position(result, operand, greatest):
                    values[result] = position(values[operand], greatest)
                case Call(result=result):
                    values[result] = _call(stage, values, extents)
        return values[self.result]


def _pick(stage: Pick, values: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    arrays: dict[str, Array] = {}
    for place in stage.places:
        if isinstance(place, Gathered):
            array = values[place.tensor]
            assert not isinstance(array, SparseTensor)
            arrays[place.tensor] = array
    return pick(values[stage.operand], stage.operand, stage.places, arrays, extents, stage.encoding)


def _convert(value: Value, stage: Convert) -> Value:
    kind = stage.type
    if kind.encoding is None:
        dense = value.to_numpy() if isinstance(value, SparseTensor) else value
        return np.ascontiguousarray(dense, dtype=kind.dtype.numpy)
    encoding = kind.encoding
    if isinstance(value, SparseTensor):
        if value.dtype != kind.dtype.numpy:
            value = value.astype(kind.dtype)
        return tensor(value, encoding, drop_zeros=True) if stage.drop_zeros else value.convert(encoding)
    if stage.missing == 0:
        return tensor(value, encoding)
    entries = np.nonzero(value != np.asarray(stage.missing, value.dtype))
    return tensor((np.stack(entries), value[entries]), encoding, shape=value.shape)


def _view(value: Value) -> SparseTensor:
    assert isinstance(value, SparseTensor)
    return level_view(value)


def _call(stage: Call, values: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    arguments = [values[name] for name in stage.operands]
    frames = _frames(stage, arguments, values, extents)
    ready = tuple(
        argument if isinstance(argument, SparseTensor) else _padded(argument, axes, extents, frames)
        for argument, axes in zip(arguments, stage.axes, strict=True)
    )
    if stage.encoding is None:
        return _call_dense(stage, ready, values.get(stage.result), extents, frames)
    assert stage.buffers is not None
    shape = tuple(extents[variable] for variable in stage.variables)
    sizes = stage.encoding.level_sizes(shape)
    _check_coordinates(stage.encoding, sizes)
    _check_room(stage.buffers, sizes, shape)
    named = zip(stage.operands, arguments, strict=True)
    entries = {name: value.nse for name, value in named if isinstance(value, SparseTensor)}
    buffers = assemble(stage.launcher, stage.buffers, ready, sizes, stage.bound(entries, extents))
    if buffers is None:
        raise _refused(stage)
    _check_positions(stage.encoding, len(buffers[-1]))
    return sparse_result(stage.encoding, sizes, buffers)


def _check_positions(encoding: Encoding, entries: int) -> None:
    # Compiled code cuts positions off at their width, so that only their number tells what they were.
    width = encoding.pos_width or 64
    if entries >= 1 << min(width, 63) or (width == 32 and entries >= 1 << 31):
        raise WidthError(
            f"expected at most {(1 << min(width, 31)) - 1} entries with posWidth = {width}, but got {entries} "
            f"in the result: ask for a wider posWidth with out="
        )


def _check_coordinates(encoding: Encoding, level_sizes: Sequence[int]) -> None:
    # Compiled code cuts coordinates off at their width, so that only the axis tells what they were.
    if encoding.crd_width in (0, 64):
        return
    for kind, size in zip(encoding.level_types, level_sizes, strict=True):
        if kind.has_coordinates and size:
            check_width("crdWidth", encoding.crd_width, size - 1)


def _check_room(buffers: Buffers, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Refuses results whose positions and workspace, which are allocated whole, are more than there is."""
    encoding = buffers.encoding
    positions = (math.prod(sizes[: buffers.depth]) + 1) * (encoding.pos_width or 64) // 8
    workspace = sizes[-1] * (buffers.dtype.itemsize + 1) if buffers.gathers else 0
    check_fits(positions + workspace, f"the loops over a result of shape {shape} in {encoding.map_text()}")


def _call_dense(
    stage: Call,
    arguments: tuple[Value, ...],
    present: Value | None,
    extents: Mapping[str, int],
    frames: Mapping[str, _Frame],
) -> Array:
    shape = tuple(extents[variable] for variable in stage.variables)
    windows = [frames[variable] for variable in stage.variables]
    assert not isinstance(present, SparseTensor)
    result = _empty(shape, stage.dtype) if present is None else present
    if all(low == 0 and high == size for (low, high), size in zip(windows, shape, strict=True)):
        if stage.launcher(arguments, result) is None:
            raise _refused(stage)
        return result
    # The loops reach beyond the tensor's edges: they need room there.
    inside = tuple(slice(-low, size - low) for (low, _), size in zip(windows, shape, strict=True))
    room = _empty(tuple(high - low for low, high in windows), stage.dtype)
    room[...] = 0
    if stage.continues:
        room[inside] = result
    if stage.launcher(arguments, room) is None:
        raise _refused(stage)
    result[...] = room[inside]
    return result


# From where to where a variable runs; what lies outside the tensor is padding.
_Frame = tuple[int, int]


def _frames(
    stage: Call, arguments: Sequence[Value], values: Mapping[str, Value], extents: Mapping[str, int]
) -> Mapping[str, _Frame]:
    """Returns where the loops run: beyond the edges where an operand is stored in blocks or read in level space."""
    frames = {variable: (0, extent) for variable, extent in extents.items()}
    for argument, axes in zip(arguments, stage.axes, strict=True):
        if isinstance(argument, SparseTensor):
            for variable, size in zip(axes, operand_of(argument).shape, strict=True):
                if variable is not None and variable in extents:
                    frames[variable] = (0, size)
    for variable, name, dim in stage.frames:
        tensor_ = values[name]
        assert isinstance(tensor_, SparseTensor)
        low, high = tensor_.encoding.level_space().dim_bounds[dim]
        # Empty tensors have bounds that cross; there the loops do not run.
        frames[variable] = (
            min(0, int(low.evaluate((), tensor_.shape))),
            max(extents[variable], int(high.evaluate((), tensor_.shape))),
        )
    return frames


def _padded(
    array: Array, axes: tuple[str | None, ...], extents: Mapping[str, int], frames: Mapping[str, _Frame]
) -> Array:
    widths = [
        (0, 0) if variable is None else (-frames[variable][0], frames[variable][1] - extents[variable])
        for variable in axes
    ]
    return np.pad(array, widths) if any(map(any, widths)) else array


def _empty(shape: tuple[int, ...], dtype: DType) -> Array:
    check_fits(math.prod(shape) * dtype.itemsize, f"a dense array of shape {shape}")
    return np.empty(shape, dtype.numpy)


def _refused(stage: Call) -> OperandError:
    # The arguments were checked before; this names the stage rather than let a wrong one through.
    return OperandError(f"expected operands {', '.join(stage.operands)} as compiled for, but got others")
