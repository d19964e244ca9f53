"""Calls of compiled functions: prepares their operands and allocates their results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import OperandError, StorageError, WidthError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.program import NestCall
from mlir_sparse.runtime.call_arguments import operand_of, sparse_result
from mlir_sparse.runtime.sparse_result_buffers import SparseResultLayout, assemble, compute
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.widths import check_width

__all__ = [
    "FunctionCall",
    "Value",
    "compute_into",
    "empty",
    "entries_at",
    "entries_of",
    "lay_out",
    "refused",
    "reserved",
    "run_call",
]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor

# Smaller arrays are not checked against the memory available: that would take longer than to fill them.
_SMALL = 1 << 26


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a compiled function; `buffers` is the layout of a sparse result."""

    nest: NestCall
    launcher: _native.Launcher
    buffers: SparseResultLayout | None

    @property
    def result(self) -> str:
        """Returns the name of the computed value."""
        return self.nest.result


def run_call(call: FunctionCall, values: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    """Runs a call on named values; a dense result among them is written in place.

    Raises:
        TooLargeError: for a result that does not fit in memory.
        WidthError: for a sparse result with too many entries for its positions, or an axis too long for its
            coordinates.
    """
    nest = call.nest
    arguments = [values[name] for name in nest.operands]
    given, extents = extents, _with_entries(nest, arguments, extents)
    frames = _frames(nest, arguments, values, extents)
    ready = tuple(
        argument if isinstance(argument, SparseTensor) else _padded(argument, axes, extents, frames)
        for argument, axes in zip(arguments, nest.axes, strict=True)
    )
    if nest.encoding is None:
        present = values.get(nest.result)
        if present is None and extents is not given:  # the values of a tensor
            present = reserved(tuple(extents[variable] for variable in nest.variables), nest.dtype)
        return _call_dense(call, ready, present, extents, frames)
    tensor = lay_out(call, ready, extents)
    if tensor is None:
        raise refused(nest)
    return tensor


def _with_entries(nest: NestCall, arguments: Sequence[Value], extents: Mapping[str, int]) -> Mapping[str, int]:
    """Returns the extents, with those of variables that number entries or fibres, which only the tensors determine."""
    unknown = [variable for variable in nest.variables if variable not in extents]
    if not unknown:
        return extents
    found = dict(extents)
    if nest.sampled is not None:
        sampled = arguments[nest.sampled]
        assert isinstance(sampled, SparseTensor)
        return found | {nest.variables[0]: entries_at(sampled)}
    for value, axes in zip(arguments, nest.axes, strict=True):
        named = zip(axes, value.shape, strict=True)
        found.update((axis, size) for axis, size in named if axis is not None and axis in unknown)
    return found


def entries_at(sampled: SparseTensor) -> int:
    """Returns the number of values in a result with the entries of an operand."""
    return len(sampled.storage.values)


def lay_out(call: FunctionCall, arguments: tuple[Value, ...], extents: Mapping[str, int]) -> SparseTensor | None:
    """Returns the sparse result of a call as a new tensor; None for operands of other types than the function's."""
    nest, layout = call.nest, call.buffers
    assert layout is not None
    sizes = _sizes(nest, layout, extents)
    bounds, points = entries_of(nest, arguments, extents)
    buffers = assemble(call.launcher, layout, arguments, sizes, bounds, points)
    if buffers is None:
        return None
    _check_positions(layout.encoding, len(buffers[-1]))
    shape = tuple(extents[variable] for variable in nest.variables)
    return sparse_result(layout.encoding, shape, sizes, buffers)


def entries_of(nest: NestCall, arguments: Sequence[Value], extents: Mapping[str, int]) -> tuple[tuple[int, int], int]:
    """Returns bounds on the number of entries of a sparse result, and an estimate of the points to compute."""
    named = zip(nest.operands, arguments, strict=True)
    entries = {name: value.nse for name, value in named if isinstance(value, SparseTensor)}
    # Without sums, about as many points are computed as stored.
    points = nest.entries.points(entries, extents) if nest.entries.reduces else 0
    return nest.entries.bounds(entries, extents), points


def compute_into(
    call: FunctionCall, values: Mapping[str, Value], extents: Mapping[str, int], structure: SparseTensor, results: Array
) -> None:
    """Computes the values of a sparse result, given its structure.

    Args:
        call: a call of a function that was compiled for the numeric phase.
        values: the operands by name.
        extents: the extent of each index variable.
        structure: a tensor of the result's type and shape.
        results: the array for the values.

    Raises:
        StorageError: if the loops find another structure; some values are overwritten then.
    """
    nest, layout = call.nest, call.buffers
    assert layout is not None
    buffers = [*structure.storage.buffers()[:-1], results]
    arguments = tuple(values[name] for name in nest.operands)
    for argument in arguments:
        if isinstance(argument, SparseTensor):
            operand_of(argument)  # caches the argument that the launcher reads
    found = compute(call.launcher, layout, arguments, _sizes(nest, layout, extents), buffers)
    if found is None:
        raise refused(nest)
    if found != len(results):
        count = "another structure" if found < 0 else f"{found} entries"
        raise StorageError(
            f"expected {count} for {call.result}, but got a structure of {len(results)} entries: "
            f"assemble it from operands of the same structure"
        )


def _sizes(nest: NestCall, layout: SparseResultLayout, extents: Mapping[str, int]) -> tuple[int, ...]:
    shape = tuple(extents[variable] for variable in nest.variables)
    sizes = tuple(shape[dim] for dim in layout.order)
    _check_coordinates(layout.encoding, sizes)
    _check_memory(layout, sizes, shape)
    return sizes


def _check_positions(encoding: Encoding, entries: int) -> None:
    # Compiled code truncates positions to their width: check the number of entries instead.
    width = encoding.pos_width or 64
    if entries >= 1 << min(width, 63) or (width == 32 and entries >= 1 << 31):
        raise WidthError(
            f"expected at most {(1 << min(width, 31)) - 1} entries with posWidth = {width}, but got {entries} "
            f"in the result: ask for a wider posWidth with out="
        )


def _check_coordinates(encoding: Encoding, level_sizes: Sequence[int]) -> None:
    # Compiled code truncates coordinates to their width: check the axis instead.
    if encoding.crd_width in (0, 64) or max(level_sizes) <= 1 << (encoding.crd_width - 1):
        return
    for kind, size in zip(encoding.level_types, level_sizes, strict=True):
        if kind.has_coordinates and size:
            check_width("crdWidth", encoding.crd_width, size - 1)


def _check_memory(buffers: SparseResultLayout, sizes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Refuses results whose positions and workspace, which are allocated whole, do not fit in memory."""
    encoding = buffers.encoding
    positions = (math.prod(sizes[: buffers.depth]) + 1) * (encoding.pos_width or 64) // 8
    workspace = sizes[-1] * ((buffers.dtype.itemsize + 1) * buffers.gathers + 8 * buffers.scatters)
    if positions + workspace > _SMALL:
        check_fits(positions + workspace, f"the loops over a result of shape {shape} in {encoding.map_text()}")


def _call_dense(
    call: FunctionCall,
    arguments: tuple[Value, ...],
    present: Value | None,
    extents: Mapping[str, int],
    frames: Mapping[str, _Frame],
) -> Array:
    nest = call.nest
    shape = tuple(extents[variable] for variable in nest.variables)
    windows = [frames[variable] for variable in nest.variables]
    assert not isinstance(present, SparseTensor)
    result = empty(shape, nest.dtype) if present is None else present
    if all(low == 0 and high == size for (low, high), size in zip(windows, shape, strict=True)):
        if call.launcher(arguments, result) is None:
            raise refused(nest)
        return result
    # The loops exceed the tensor's bounds: pad the arrays.
    inside = tuple(slice(-low, size - low) for (low, _), size in zip(windows, shape, strict=True))
    padded = empty(tuple(high - low for low, high in windows), nest.dtype)
    padded[...] = 0
    if nest.continues:
        padded[inside] = result
    if call.launcher(arguments, padded) is None:
        raise refused(nest)
    result[...] = padded[inside]
    return result


# The bounds of each variable; what is outside the tensor is padding.
_Frame = tuple[int, int]


def _frames(
    nest: NestCall, arguments: Sequence[Value], values: Mapping[str, Value], extents: Mapping[str, int]
) -> Mapping[str, _Frame]:
    """Returns the bounds of loops that exceed a tensor's: for operands with blocks or in level space."""
    frames = {variable: (0, extent) for variable, extent in extents.items()}
    for argument, axes in zip(arguments, nest.axes, strict=True):
        if isinstance(argument, SparseTensor):
            for variable, size in zip(axes, operand_of(argument).shape, strict=True):
                if variable is not None and variable in extents:
                    frames[variable] = (0, size)
    for variable, name, dim in nest.frames:
        tensor_ = values[name]
        assert isinstance(tensor_, SparseTensor)
        low, high = tensor_.encoding.level_space().dim_bounds[dim]
        # The bounds of empty tensors may cross: the loops are empty.
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


def empty(shape: tuple[int, ...], dtype: DType) -> Array:
    """Returns an uninitialised dense array; a large one begins with a cache line."""
    check_fits(math.prod(shape) * dtype.itemsize, f"a dense array of shape {shape}")
    return _native.dense_array(shape, dtype.numpy)


def reserved(shape: tuple[int, ...], dtype: DType) -> Array:
    """Returns an uninitialised array for values of a tensor, in reused memory if possible."""
    check_fits(math.prod(shape) * dtype.itemsize, f"values of shape {shape}")
    return _native.reserve(math.prod(shape), dtype.numpy).reshape(shape)


def refused(nest: NestCall) -> OperandError:
    """Returns the error of a call whose function takes other operands."""
    # Arguments were checked before; this is a last check with a message.
    return OperandError(f"expected operands {', '.join(nest.operands)} as compiled for, but got others")
