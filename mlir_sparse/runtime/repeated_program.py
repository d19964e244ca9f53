"""Programs of several steps called again: on operands of known types and shapes nothing is checked or inferred anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from mlir_sparse.encoding import Encoding
from mlir_sparse.runtime.call_arguments import operand_of
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["RepeatedProgram", "Step"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor
# The name of a step's value, and what computes it from the values so far, to which it may add others.
Step = tuple[str, Callable[[dict[str, Value]], Value]]
# What is the same in calls that need no check: the element type, the shape, and the encoding of a tensor.
_Form = tuple[np.dtype[Any], tuple[int, ...], Encoding | None]


class RepeatedProgram:
    """The fast path of a program for operands of the types and shapes that it was called with before.

    Args:
        steps: what to run, for checked operands by name.
        result: the name of the result.
        values: the operands of that call, in order.
        form: the element type and the shape of its result, if that is an array.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        result: str,
        values: Mapping[str, Value],
        form: tuple[np.dtype[Any], tuple[int, ...]] | None,
    ) -> None:
        self._steps = steps
        self._result = result
        self._names = tuple(values)
        self._forms = tuple(map(_form, values.values()))
        self._form = form
        # The least and the greatest number of entries, and the number of the operand; none where any will do.
        self._bounds: tuple[tuple[int, int, int], ...] = ()

    def within(self, bounds: Sequence[tuple[int, int]]) -> RepeatedProgram:
        """Returns the same for operands with numbers of entries within bounds; those of arrays follow from shapes."""
        found = copy(self)
        numbered = zip(bounds, range(len(bounds)), self._forms, strict=True)
        found._bounds = tuple((low, high, number) for (low, high), number, form in numbered if form[2] is not None)
        return found

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Value | None:
        """Returns the result; None for operands that do not fit, which the caller then checks."""
        if len(operands) != len(self._forms):
            return None
        for operand, (dtype, shape, encoding) in zip(operands, self._forms, strict=True):
            if encoding is not None or type(operand) is not np.ndarray:
                operands = tuple(map(_number_as_array, operands))
                if not all(map(_has, operands, self._forms)):
                    return None
                break
            flags = operand.flags
            if operand.dtype != dtype or operand.shape != shape or not (flags.c_contiguous and flags.aligned):
                return None
        for low, high, number in self._bounds:
            if not low <= operands[number].nse <= high:
                return None
        if out is not None and not self._may_be_written(out, operands):
            return None
        found = self._computed(operands, out)
        if out is None or found is out:
            return found
        array: Array = out
        np.copyto(array, found)
        return array

    def _computed(self, operands: Sequence[Value], out: Array | None) -> Value:
        values = dict(zip(self._names, operands, strict=True))
        if out is not None:
            values[self._result] = out
        for name, step in self._steps:
            values[name] = step(values)
        return values[self._result]

    def _may_be_written(self, out: Any, operands: Sequence[Value]) -> bool:
        """Returns whether an array can take the result: as the loops write it, and apart from all operands."""
        if self._form is None or not _is_array(out, *self._form) or not out.flags.writeable:
            return False
        for operand in operands:
            if isinstance(operand, SparseTensor):
                if any(np.may_share_memory(out, array) for array in operand.storage.buffers()):
                    return False
            elif np.may_share_memory(out, operand):
                return False
        return True


def _number_as_array(operand: Any) -> Any:
    """Returns a number as an array: NumPy's, and Python's floats, which are f64."""
    return np.asarray(operand) if isinstance(operand, float | np.generic) else operand


def _form(value: Value) -> _Form:
    return value.dtype, value.shape, value.encoding if isinstance(value, SparseTensor) else None


def _has(operand: Any, form: _Form) -> bool:
    """Returns whether an operand has a form, as loops read it."""
    dtype, shape, encoding = form
    if encoding is None:
        return _is_array(operand, dtype, shape)
    if type(operand) is not SparseTensor or operand.shape != shape or operand.dtype != dtype:
        return False
    if operand.encoding is not encoding and operand.encoding != encoding:
        return False
    if operand._operand is None and is_plain(encoding):
        operand_of(operand)  # which launchers read
    return True


def _is_array(operand: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    if type(operand) is not np.ndarray or operand.shape != shape or operand.dtype != dtype:
        return False
    flags = operand.flags
    return bool(flags.c_contiguous and flags.aligned)
