"""Calls of loops that stay inside of their operands, and products, again for the same extents.

Only results are allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.program import Argument, ArrayProduct, NestCall, Pick
from mlir_sparse.runtime.call_arguments import operand_of, padded_shape, type_id
from mlir_sparse.runtime.fast_paths import repeated_sparse_call
from mlir_sparse.runtime.function_call import FunctionCall, Value, empty, refused
from mlir_sparse.runtime.multiply_arrays import native_product
from mlir_sparse.runtime.take_lines import taken_shape
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
    nbytes = math.prod(shape) * dtype.itemsize
    fresh = np.empty if nbytes < _native.LARGE_ARRAY else _native.dense_array

    def run(values: Mapping[str, Value]) -> Value:
        array = values.get(result)
        if array is None:
            array = empty(shape, dtype) if nbytes > _LARGE else fresh(shape, dtype.numpy)
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
    """Returns a program as one native call for operands like these; None where it does more than native calls do.

    Args:
        steps: the steps of the program: calls of loops, short products by BLAS, and rows of arrays at places.
        result: the name of its result.
        values: operands, in order, which all steps read together.
        extents: the extent of each index variable.
    """
    names = {name: number for number, name in enumerate(values)}
    dtypes = {name: value.dtype for name, value in values.items() if not isinstance(value, SparseTensor)}
    found, read, last = [], set[str](), ""
    for step in steps:
        native = _native_step(step, extents)
        if native is None:
            return None
        function, operands, made = native
        if isinstance(made, Pick):
            shape, dtype = taken_shape(made, extents), dtypes.get(made.operand)
            if shape is None or dtype is None or (places := dtypes.get(operands[1])) is None or places.kind != "i":
                return None
        else:
            is_array, dtype = isinstance(made, ArrayProduct) or made.encoding is None, made.dtype.numpy
            shape = tuple(extents.get(variable, -1) for variable in made.variables) if is_array else ()
            if not is_array:
                dtypes.pop(made.result, None)
        if math.prod(shape) * dtype.itemsize > _LARGE:
            return None
        last = made.result
        numbers, number = [names[name] for name in operands], names.setdefault(last, len(names))
        found.append(_native.ProgramStep(function, numbers, number, shape, dtype))
        dtypes[last] = dtype
        read.update(operands)
    if last != result or result in values or not read >= values.keys():
        return None
    return _native.ProgramLauncher(found, list(map(_form, values.values())), len(names))


_Native = _native.Launcher | _native.BlasProduct | _native.RowsAt | Callable[[tuple[Any, ...]], SparseTensor | None]


def _native_step(
    step: object, extents: Mapping[str, int]
) -> tuple[_Native, Sequence[str], NestCall | ArrayProduct | Pick] | None:
    """Returns what native code calls for a step, the names of its operands, and what it is; None for others."""
    match step:
        case FunctionCall(nest=nest, launcher=launcher) if _has_array_to_fill(nest, extents):
            return launcher, nest.operands, nest
        case FunctionCall(nest=nest) if all(map(partial(_is_whole, extents=extents), nest.arguments, nest.axes)):
            sparse = repeated_sparse_call(step)
            return None if sparse is None else (sparse, nest.operands, nest)
        case ArrayProduct():
            product = native_product(step, extents)
            return None if product is None else (*product, step)
        case Pick(operands=(value, places)):
            return _native.RowsAt(), (value, places), step
        case _:
            return None


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
