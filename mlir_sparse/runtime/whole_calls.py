"""Calls of loops that stay inside of their operands, again for the same extents: only results are allocated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.program import Argument, NestCall
from mlir_sparse.runtime.call_arguments import operand_of, padded_shape, type_id
from mlir_sparse.runtime.function_call import FunctionCall, Value, empty, refused
from mlir_sparse.tensor import SparseTensor

__all__ = ["native_program", "repeated_call"]

# Bytes of an array from which on the memory available is asked for.
_LARGE = 1 << 26


def repeated_call(call: FunctionCall, extents: Mapping[str, int]) -> Callable[[Mapping[str, Value]], Value] | None:
    """Returns what runs a call again for the same extents; None for one with more to do than to allocate an array."""
    nest = call.nest
    if not _has_array_to_fill(nest, extents):
        return None
    shape, dtype = tuple(extents[variable] for variable in nest.variables), nest.dtype
    launcher, operands, result = call.launcher, nest.operands, nest.result
    stored = [name for name, one in zip(operands, nest.arguments, strict=False) if one.encoding is not None]
    large = math.prod(shape) * dtype.itemsize > _LARGE

    def run(values: Mapping[str, Value]) -> Value:
        array = values.get(result)
        if array is None:
            array = empty(shape, dtype) if large else np.empty(shape, dtype.numpy)
        for name in stored:
            tensor = values[name]
            assert isinstance(tensor, SparseTensor)
            operand_of(tensor)  # caches the argument that the launcher reads
        if launcher(tuple([values[name] for name in operands]), array) is None:
            raise refused(nest)
        return array

    return run


def native_program(
    steps: Sequence[object], result: str, values: Mapping[str, Value], extents: Mapping[str, int]
) -> _native.ProgramLauncher | None:
    """Returns a program's calls as one native call for operands like these; None where there is more to do than calls.

    Args:
        steps: the steps of the program.
        result: the name of its result.
        values: operands, in order, which all steps read together.
        extents: the extent of each index variable.
    """
    calls = [step for step in steps if isinstance(step, FunctionCall)]
    names = {name: number for number, name in enumerate(values)}
    if len(calls) < len(steps) or not calls or calls[-1].result != result or result in values:
        return None
    if not {name for call in calls for name in call.nest.operands} >= names.keys():
        return None
    found = []
    for call in calls:
        nest = call.nest
        shape = tuple(extents.get(variable, -1) for variable in nest.variables)
        if not _has_array_to_fill(nest, extents) or math.prod(shape) * nest.dtype.itemsize > _LARGE:
            return None
        operands = [names[name] for name in nest.operands]
        number = names.setdefault(nest.result, len(names))
        found.append(_native.ProgramStep(call.launcher, operands, number, shape, nest.dtype.numpy))
    return _native.ProgramLauncher(found, list(map(_form, values.values())), len(names))


def _form(value: Value) -> _native.OperandForm:
    if not isinstance(value, SparseTensor):
        return _native.OperandForm(value.shape, value.dtype)
    return _native.OperandForm(value.shape, None, type_id(DType.of(value.dtype), value.encoding))


def _has_array_to_fill(nest: NestCall, extents: Mapping[str, int]) -> bool:
    """Returns whether a call fills an array of known shape, by loops that stay inside of their operands."""
    if nest.encoding is not None or nest.frames or nest.sampled is not None or not extents.keys() >= {*nest.variables}:
        return False
    return all(_is_whole(argument, axes, extents) for argument, axes in zip(nest.arguments, nest.axes, strict=False))


def _is_whole(argument: Argument, axes: tuple[str | None, ...], extents: Mapping[str, int]) -> bool:
    """Returns whether loops over an operand stay inside of it: it is an array, or storage without parts of blocks."""
    if argument.encoding is None:
        return True
    shape = tuple(extents.get(axis, -1) if axis is not None else -1 for axis in axes)
    return -1 not in shape and padded_shape(argument.encoding, shape) == shape
