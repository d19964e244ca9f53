"""Runs programs: calls of compiled functions and native steps, on named values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.program import (
    Conversion,
    ExtentVector,
    FibreView,
    Gathered,
    LevelSpaceView,
    NativeStep,
    NestCall,
    Pick,
    Position,
    SharedLevels,
)
from mlir_sparse.runtime.function_call import (
    ChainedCalls,
    Direct,
    FunctionCall,
    ReorderedCall,
    SampledCall,
    SparseCall,
    Value,
    empty,
    run_call,
)
from mlir_sparse.runtime.gather_elements import pick_elements
from mlir_sparse.runtime.level_view_calls import LevelViewCall
from mlir_sparse.runtime.machine_code import Machine
from mlir_sparse.runtime.narrowed_values import NarrowedCall, narrowed
from mlir_sparse.tensor import SparseTensor, level_view, tensor
from mlir_sparse.tensor.extreme_position import position
from mlir_sparse.tensor.stored_fibres import fibres_of, of_rows

__all__ = ["Executable", "LinkedStep", "run_step"]

Array = np.ndarray[Any, Any]


LinkedStep = FunctionCall | NativeStep


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled program.

    Args:
        steps: the linked steps, in order.
        result: the name of the value to return.
        module: the machine code of the launchers.
    """

    steps: tuple[LinkedStep, ...]
    result: str
    module: Machine = field(repr=False)

    def direct(self, parameters: Sequence[str], values: Mapping[str, Value]) -> Direct | None:
        """Returns the fast path of a program: one call, also on views, or calls on one array; None for other programs.

        Args:
            parameters: the names of the operands, in the order of a call.
            values: operands of the types of a call.
        """
        last = _rounds(self.steps[-1], self.result, parameters) if len(self.steps) > 1 else None
        if last is not None:
            wide, finish = last
            first = Executable(self.steps[:-1], wide, self.module).direct(parameters, values)
            return None if first is None else NarrowedCall(first.direct, finish)
        match self.steps:
            case (FunctionCall(NestCall(operands=operands)) as call,) if sorted(operands) == sorted(parameters):
                function: _native.Launcher | SparseCall | SampledCall = (
                    call.launcher if call.buffers is None else SparseCall(call)
                )
            case (
                FunctionCall(NestCall(operands=operands, sampled=int())) as call,
                SharedLevels(encoding=encoding),
            ) if set(operands) == set(parameters):
                function = SampledCall(call, encoding)
            case (FunctionCall(), FunctionCall(), *_):
                return _chained(self.steps, self.result, parameters)
            case (*views, FunctionCall(NestCall(encoding=None, sampled=None)) as call):
                return _level_view_call(views, call, parameters, values)
            case _:
                return None
        order = tuple(parameters.index(name) for name in operands)
        return function if order == tuple(range(len(order))) else ReorderedCall(function, order)

    def run(self, inputs: Mapping[str, Value], extents: Mapping[str, int], out: Array | None) -> Value:
        """Runs the program on checked inputs.

        Args:
            inputs: C-contiguous arrays and tensors of the program's types.
            extents: the extent of each index variable.
            out: a contiguous array for a dense result, which shares no memory with the inputs.

        Returns:
            the result: `out` if given, else a new array or tensor.
        """
        values: dict[str, Value] = dict(inputs)
        if out is not None:
            values[self.result] = out
        for step in self.steps:
            values[step.result] = run_step(step, values, extents)
        return values[self.result]


def _rounds(step: LinkedStep, result: str, parameters: Sequence[str]) -> tuple[str, Callable[[Any, Any], Any]] | None:
    """Returns the operand of a last conversion and its function, if its result has the operand's shape."""
    match step:
        case FunctionCall(
            NestCall(operands=(wide,), axes=(axes,), encoding=None, sampled=None, frames=(), continues=False) as nest,
            launcher,
        ):
            if wide in (result, *parameters) or axes != nest.variables:
                return None
            return wide, lambda value, out: launcher.direct((value,), out)
        case Conversion(operand=wide, type=kind) if wide not in parameters and kind.encoding is not None:
            return wide, lambda value, out: None if out is not None else _convert(value, step)
        case _:
            return None


def _chained(steps: Sequence[LinkedStep], result: str, parameters: Sequence[str]) -> ChainedCalls | None:
    """Returns the fast path of a program whose calls all write to its result, an array; None for others."""
    calls = [step for step in steps if isinstance(step, FunctionCall)]
    names = {name for call in calls for name in call.nest.operands}
    if len(calls) != len(steps) or names != set(parameters) or result in names:
        return None
    summed: set[str] = set()
    for nest in (call.nest for call in calls):
        dense = nest.encoding is None and nest.sampled is None and not nest.frames
        walked = {variable for axes in nest.axes for variable in axes if variable}
        # A function compares the extents of its own operands; those of different functions agree only through the
        # result.
        apart = summed.isdisjoint(walked - set(nest.variables)) and walked.issuperset(nest.variables)
        if nest.result != result or not dense or not apart:
            return None
        summed |= walked - set(nest.variables)
    orders = [tuple(map(parameters.index, call.nest.operands)) for call in calls]
    return ChainedCalls([(call.launcher, order) for call, order in zip(calls, orders, strict=True)], len(parameters))


def _level_view_call(
    views: Sequence[LinkedStep], call: FunctionCall, parameters: Sequence[str], values: Mapping[str, Value]
) -> LevelViewCall | None:
    """Returns the fast path of a program with one call on level-space views; None for others."""
    sources = {step.result: step.operand for step in views if isinstance(step, LevelSpaceView)}
    names = [sources.get(name, name) for name in call.nest.operands]
    if len(sources) != len(views) or sorted(names) != sorted(parameters) or set(sources.values()) - set(names):
        return None
    found = {}
    for operand in sources.values():
        value = values[operand]
        assert isinstance(value, SparseTensor)
        found[parameters.index(operand)] = value.encoding
    framed = _framed(call.nest, parameters, found)
    if framed is None:
        return None
    return LevelViewCall(call.launcher, tuple(parameters.index(name) for name in names), found, framed)


def _framed(
    nest: NestCall, parameters: Sequence[str], encodings: Mapping[int, Encoding]
) -> Mapping[int, tuple[int, int]] | None:
    """Returns the framed arrays of a `LevelViewCall`; None if arrays must be padded."""
    if not nest.frames:
        return {}
    ((variable, name, dim), *others) = nest.frames
    if others or variable in nest.variables or name not in parameters or len(encodings) != 1:
        return None
    number = parameters.index(name)
    if number not in encodings or not _stores_diagonals(encodings[number]):
        return None
    found = {}
    for place, axes in enumerate(nest.axes):
        if variable in axes[1:]:
            return None
        if axes[:1] == (variable,):
            found[place] = number, dim
    return found


def _stores_diagonals(encoding: Encoding) -> bool:
    """Returns whether an encoding has two levels: stored diagonals, and a dense level of their rows."""
    types = encoding.level_space().encoding.level_types
    return len(types) == 2 and types[0].has_positions and types[0].has_coordinates and types[1].functions.has_full_loop


def run_step(step: LinkedStep, values: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    """Runs a step on the values so far, and returns its result."""
    match step:
        case Conversion(operand=operand):
            return _convert(values[operand], step)
        case LevelSpaceView(operand=operand):
            return _view(values[operand])
        case FibreView():
            return _fibres(values[step.operand], step)
        case SharedLevels():
            return _rows(step, values, extents)
        case ExtentVector(variable=variable, dtype=dtype):
            return empty((extents[variable],), dtype)
        case Pick():
            return _pick(step, values, extents)
        case Position(operand=operand, greatest=greatest):
            return position(values[operand], greatest)
        case FunctionCall():
            return run_call(step, values, extents)
        case _:
            assert_never(step)


def _pick(step: Pick, values: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    arrays: dict[str, Array] = {}
    for place in step.places:
        if isinstance(place, Gathered):
            array = values[place.tensor]
            assert not isinstance(array, SparseTensor)
            arrays[place.tensor] = array
    return pick_elements(values[step.operand], step.operand, step.places, arrays, extents, step.encoding)


def _convert(value: Value, step: Conversion) -> Value:
    kind = step.type
    if kind.encoding is None:
        dense = value.to_numpy() if isinstance(value, SparseTensor) else value
        return np.ascontiguousarray(dense, dtype=kind.dtype.numpy)
    encoding, value = kind.encoding, narrowed(value, kind.dtype)
    if isinstance(value, SparseTensor):
        return tensor(value, encoding, drop_zeros=True) if step.drop_zeros else value.convert(encoding)
    if step.missing == 0:
        return tensor(value, encoding)
    entries = np.nonzero(value != np.asarray(step.missing, value.dtype))
    return tensor((np.stack(entries), value[entries]), encoding, shape=value.shape)


def _view(value: Value) -> SparseTensor:
    assert isinstance(value, SparseTensor)
    return level_view(value)


def _fibres(value: Value, step: FibreView) -> SparseTensor:
    assert isinstance(value, SparseTensor)
    return fibres_of(value, step.depth, step.encoding)


def _rows(step: SharedLevels, values: Mapping[str, Value], extents: Mapping[str, int]) -> SparseTensor:
    rows, structure = values[step.operand], values[step.structure]
    assert isinstance(structure, SparseTensor)
    assert not isinstance(rows, SparseTensor)
    shape = tuple(extents[variable] for variable in step.variables)
    return of_rows(rows, structure, step.depth, step.encoding, shape)
