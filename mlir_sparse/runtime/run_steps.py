"""Runs programs: calls of compiled functions and native steps, on named values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.program import (
    ArrayProduct,
    Blocks,
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
from mlir_sparse.runtime.blocks_of_rows import BlocksOfRows, rows_of_block
from mlir_sparse.runtime.fast_paths import (
    ChainedCalls,
    Direct,
    ReorderedCall,
    SampledCall,
    SparseCall,
    repeated_sparse_call,
)
from mlir_sparse.runtime.function_call import FunctionCall, Value, empty, run_call
from mlir_sparse.runtime.level_view_calls import LevelViewCall
from mlir_sparse.runtime.machine_code import Machine
from mlir_sparse.runtime.multiply_arrays import (
    ArrayMultiplication,
    is_short_product,
    multiply_arrays,
    repeated_product,
    repeated_short_products,
)
from mlir_sparse.runtime.narrowed_values import NarrowedCall, narrowed
from mlir_sparse.runtime.repeated_program import RepeatedProgram, Step
from mlir_sparse.tensor import SparseTensor, tensor

if TYPE_CHECKING:
    from mlir_sparse.runtime.gather_elements import pick_elements
    from mlir_sparse.runtime.take_lines import repeated_rows
    from mlir_sparse.runtime.whole_calls import native_program, repeated_call
    from mlir_sparse.tensor.extreme_position import position
    from mlir_sparse.tensor.level_view import level_view
    from mlir_sparse.tensor.listed_vector import can_list, listed_vector
    from mlir_sparse.tensor.stored_fibres import fibres_of, of_rows
else:
    import_at_first_call(
        __name__,
        {
            "runtime.gather_elements": ("pick_elements",),
            "runtime.take_lines": ("repeated_rows",),
            "runtime.whole_calls": ("native_program", "repeated_call"),
            "tensor.extreme_position": ("position",),
            "tensor.level_view": ("level_view",),
            "tensor.listed_vector": ("can_list", "listed_vector"),
            "tensor.stored_fibres": ("fibres_of", "of_rows"),
        },
    )

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
        blocks: which of the steps may run for some rows at a time; None for none.
    """

    steps: tuple[LinkedStep, ...]
    result: str
    module: Machine = field(repr=False)
    blocks: Blocks | None = None

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
            case (FunctionCall(NestCall(operands=operands)) as call,) if set(operands) == set(parameters):
                function: _native.Launcher | SparseCall | SampledCall = (
                    call.launcher if call.buffers is None else SparseCall(call)
                )
            case (
                FunctionCall(NestCall(operands=operands, sampled=int())) as call,
                SharedLevels(encoding=encoding),
            ) if set(operands) == set(parameters):
                function = SampledCall(call, encoding)
            case (ArrayProduct(operands=operands) as product,) if set(operands) == set(parameters):
                return ArrayMultiplication(product, tuple(map(parameters.index, operands)), len(parameters))
            case (FunctionCall(), FunctionCall(), *_):
                return _chained(self.steps, self.result, parameters)
            case (*views, FunctionCall(NestCall(encoding=None, sampled=None)) as call):
                return _level_view_call(views, call, parameters, values)
            case _:
                return None
        order = tuple(parameters.index(name) for name in operands)
        if order == tuple(range(len(order))):
            return function
        if isinstance(function, _native.Launcher):
            return _native.SizedLauncher(function, [], order, len(parameters))
        return ReorderedCall(function, order, len(parameters))

    def repeated(
        self, values: Mapping[str, Value], extents: Mapping[str, int], result: Value
    ) -> RepeatedProgram | _native.ProgramLauncher:
        """Returns the fast path of any program, for operands of the types and shapes of a call that was made.

        Args:
            values: the operands of that call, in the order of the parameters.
            extents: the extent of each index variable in it.
            result: its result.
        """
        known = dict(extents)
        together = self._by_rows(known)
        native = native_program(self.steps, self.result, values, extents) if together is None else None
        if native is not None:
            return native
        kept = None if isinstance(result, SparseTensor) else (result.dtype, result.shape)
        single = self.steps if together is None else self.steps[: together[0]]
        steps = _repeated_steps(single, known)
        return RepeatedProgram(steps if together is None else [*steps, together[1]], self.result, values, kept)

    def _by_rows(self, extents: Mapping[str, int]) -> tuple[int, tuple[str, BlocksOfRows]] | None:
        """Returns what runs the steps from a number on for some rows at a time; None where no steps run so."""
        blocks = self.blocks
        rows = 0 if blocks is None else rows_of_block(blocks, extents)
        if blocks is None or not rows:
            return None
        steps = self.steps[blocks.first :]
        names, result = [step.result for step in steps], _array_of(steps[-1], extents)
        run = BlocksOfRows(blocks, names, lambda n, few: _repeated(steps[n], few), result, extents, rows)
        return blocks.first, (self.result, run)

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
        together = self._by_rows(extents)
        for step in self.steps if together is None else self.steps[: together[0]]:
            values[step.result] = run_step(step, values, extents)
        found = values[self.result] if together is None else together[1][1](values)
        if out is None or found is out:
            return found
        np.copyto(out, found)  # by a last conversion
        return out


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


def _array_of(step: LinkedStep, extents: Mapping[str, int]) -> tuple[tuple[int, ...], DType]:
    """Returns the shape and the element type of the array that a step computes."""
    found = step.nest if isinstance(step, FunctionCall) else step
    assert isinstance(found, NestCall | ArrayProduct)
    return tuple(extents[name] for name in found.variables), found.dtype


def _repeated_steps(steps: Sequence[LinkedStep], extents: Mapping[str, int]) -> list[Step]:
    """Returns what runs steps again for the same extents; short products of arrays that follow one another as one."""
    found: list[Step] = []
    short: list[ArrayProduct] = []
    for step in (*steps, None):
        if isinstance(step, ArrayProduct) and is_short_product(step, extents):
            short.append(step)
            continue
        if short:
            found.append((short[-1].result, repeated_short_products(short, extents)))
            short = []
        if step is not None:
            found.append((step.result, _repeated(step, extents)))
    return found


def _repeated(step: LinkedStep, extents: Mapping[str, int]) -> Callable[[Mapping[str, Value]], Value]:
    """Returns what runs a step again for the same extents."""
    again: Callable[[Mapping[str, Value]], Value] | None = None
    short: Callable[[tuple[Any, ...]], Value | None] | None = None
    operands: Sequence[str] = ()
    match step:
        case FunctionCall():
            again, short, operands = repeated_call(step, extents), repeated_sparse_call(step), step.nest.operands
        case ArrayProduct():
            again = repeated_product(step, extents)
        case Pick():
            again = repeated_rows(step, extents)
        case _:
            pass

    def run(values: Mapping[str, Value]) -> Value:
        found = None if short is None else short(tuple([values[name] for name in operands]))
        return run_step(step, values, extents) if found is None else found

    return again or run


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
        case ArrayProduct():
            return multiply_arrays(step, values, extents)
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
    out = values.get(step.result)
    assert not isinstance(out, SparseTensor)
    return pick_elements(values[step.operand], step.operand, step.places, arrays, extents, step.encoding, out)


def _convert(value: Value, step: Conversion) -> Value:
    kind = step.type
    if kind.encoding is None:
        dense = value.to_numpy() if isinstance(value, SparseTensor) else value
        return np.asarray(narrowed(dense, kind.dtype), order="C")  # a scalar stays one
    encoding, value = kind.encoding, narrowed(value, kind.dtype)
    if isinstance(value, SparseTensor):
        return tensor(value, encoding, drop_zeros=True) if step.drop_zeros else value.convert(encoding)
    if can_list(value, encoding):
        return listed_vector(value, encoding, step.missing)
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
