"""The operands of a comprehension: their declared and actual types, and parts of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, OperandError, RankError, UnknownTensorError
from mlir_sparse.notation import Comprehension, Parameter
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import type_of_given
from mlir_sparse.spec import how_to_pass, shape_text
from mlir_sparse.spec.range_rewriting import Box
from mlir_sparse.tensor import SparseTensor, tensor

__all__ = ["check_given", "declared_shapes", "declared_type", "part_of", "type_of_operand", "wanted_outputs"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


def check_given(
    comprehension: Comprehension, given: Mapping[str, Any], *, optional: bool = False, called: bool = False
) -> None:
    """Raises unless the given tensors are the operands of a comprehension.

    Args:
        comprehension: the statements.
        given: data or types by name.
        optional: whether tensors with a declared type may be absent.
        called: whether they are a kernel's operands, or arguments of compile or evaluate.

    Raises:
        UnknownTensorError: naming the tensor.
    """
    declared = {parameter.name: parameter for parameter in comprehension.parameters}
    for name in comprehension.inputs:
        if name in given or (optional and name in declared and declared[name].dtype is not None):
            continue
        parameter = declared.get(name)
        why = "" if parameter else f"; {name} is read before a statement assigns it, so that its present value is taken"
        raise UnknownTensorError(
            f"expected data for tensor {name}, but got none: {how_to_pass(name, called)}{why}",
            source=comprehension.source,
            span=parameter.span if parameter else _output(comprehension, name).span,
        )
    for name in given:
        if name not in comprehension.inputs:
            takes = ", ".join(comprehension.inputs) or "nothing"
            text = comprehension.name or "the text"
            raise UnknownTensorError(f"expected a tensor that {text} takes ({takes}), but got {name}")


def _output(comprehension: Comprehension, name: str) -> Parameter:
    return next(output for output in comprehension.outputs if output.name == name)


def declared_type(comprehension: Comprehension, name: str) -> TensorType | None:
    """Returns the declared type of a tensor, which is dense; None without a declaration."""
    for declared in (*comprehension.parameters, *comprehension.outputs):
        if declared.name == name and declared.dtype is not None and declared.sizes is not None:
            sizes = tuple(size if isinstance(size, int) else None for size in declared.sizes)
            return TensorType(DType.of(declared.dtype), sizes)
    return None


def declared_shapes(comprehension: Comprehension, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the outputs that are declared with sizes, as far as these are known."""
    found = {}
    for output in comprehension.outputs:
        extents = [sizes.get(size) if isinstance(size, str) else size for size in output.sizes or ()]
        if output.sizes is not None and None not in extents:
            found[output.name] = tuple(extent for extent in extents if extent is not None)
    return found


def wanted_outputs(comprehension: Comprehension, out: Any) -> dict[str, Any]:
    """Returns the arrays for results, by name.

    Raises:
        OperandError: for names and numbers of arrays that are not those of the outputs.
    """
    names = comprehension.results
    if out is None:
        return {}
    if isinstance(out, Mapping):
        given = dict(out)
    elif isinstance(out, tuple | list) and len(out) == len(names):
        given = {name: one for name, one in zip(names, out, strict=True) if one is not None}
    elif len(names) == 1:
        given = {names[0]: out}
    else:
        raise OperandError(f"expected out= as a mapping or a tuple of {len(names)}, but got {type(out).__name__}")
    for name in given:
        if name not in names:
            raise OperandError(f"expected out= for the outputs {', '.join(names)}, but got {name}")
    return given


def type_of_operand(comprehension: Comprehension, name: str, given: Any) -> TensorType:
    """Returns the type of an operand, given it or data; it must agree with the declaration.

    Raises:
        DTypeError, RankError: for another type.
    """
    wanted = declared_type(comprehension, name)
    kind = type_of_given(name, given)
    if wanted is None:
        return kind
    # Python's numbers and lists are converted to the declared type.
    if operand_check.is_weak(given) and kind.rank == wanted.rank:
        return wanted
    span = next(one.span for one in (*comprehension.parameters, *comprehension.outputs) if one.name == name)
    if kind.dtype != wanted.dtype:
        raise DTypeError(
            f"expected {name} of {wanted.dtype}, as declared, but got {kind.dtype}: "
            f"declare another type, or pass {name}.astype({wanted.dtype.numpy.name!r})",
            source=comprehension.source,
            span=span,
        )
    if kind.rank != wanted.rank:
        raise RankError(
            f"expected {name} of {wanted.rank} dimensions, as declared, but got {kind.rank} "
            f"(shape {shape_text(kind.shape)})",
            source=comprehension.source,
            span=span,
        )
    return kind


def part_of(value: Value, box: Box) -> Value:
    """Returns a part of an operand with the same storage; a sparse part is packed from its entries."""
    if all(axis is None for axis in box):
        return value
    windows = [axis or (0, size) for axis, size in zip(box, value.shape, strict=True)]
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value[tuple(slice(*window) for window in windows)])
    coordinates, values = value.to_coo()
    inside = np.ones(len(values), np.bool_)
    for column, (low, high) in zip(coordinates, windows, strict=True):
        inside &= (column >= low) & (column < high)
    lows = np.array([low for low, _ in windows], coordinates.dtype)[:, None]
    shape = tuple(high - low for low, high in windows)
    return tensor((coordinates[:, inside] - lows, values[inside]), value.encoding, shape=shape)
