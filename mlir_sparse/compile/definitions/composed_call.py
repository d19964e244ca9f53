"""A statement that reads defined tensors, as it is computed at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, cast

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.definitions.composed_statement import ComposedStatement
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, ExtentError
from mlir_sparse.notation import Assignment, Comprehension, TensorVar
from mlir_sparse.runtime import operand_check

__all__ = ["ComposedCall", "Text"]

Splits = tuple[tuple[int, int], ...]
Text = str | Assignment | Comprehension | TensorVar


@dataclass(frozen=True, slots=True)
class ComposedCall:
    """A statement that reads defined tensors, as it is computed.

    Args:
        text: the statement.
        statement: the composition; None where all defined tensors are made.
        inputs: the tensors that the statement reads as it was written.
        account: what `explain()` says.
        storage: the storage of a result that names none; None where it is inferred.
        splits: by name, the axes of operands that become two, with the extents of the second.
        joined: those of the result, which become one again.
    """

    text: Text
    statement: ComposedStatement | None
    inputs: tuple[str, ...]
    account: tuple[str, ...]
    storage: str | None = None
    splits: Mapping[str, Splits] = field(default_factory=dict)
    joined: Splits = ()

    @property
    def composes(self) -> bool:
        """Returns whether some definition stands in the statement."""
        return self.statement is not None and any(operand for _, _, operand in self.statement.operands)

    @property
    def gathers(self) -> bool:
        """Returns whether elements are gathered in place of sums over selections, all of which have an entry a row."""
        return self.statement is not None and self.statement.gathers

    def options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of the composed statement, for those of the statement as it was written."""
        return {**asked, "out": self.storage} if asked["out"] is None and self.storage else dict(asked)

    def run(self, compute: Callable[[Any], Result], out: Any) -> Result:
        """Returns the result of the statement as it was written.

        Args:
            compute: computes the composed one, into an array if it gets one.
            out: the array for the result, or another argument for its storage.
        """
        if not self.joined:
            return compute(out)
        if not isinstance(out, np.ndarray):
            return cast(Result, _joined(compute(out), self.joined))
        assert self.statement is not None, "a statement is split that is composed"
        rank = len(self.statement.assignment.target.subscripts) - len(self.joined)
        operand_check.as_output(out, TensorType(DType.of(out.dtype), (None,) * rank))
        if out.flags.c_contiguous and type(out) is np.ndarray and all(out.shape[a] % n == 0 for a, n in self.joined):
            compute(_taken_apart(out, self.joined))
            return out
        found: Any = _joined(compute(None), self.joined)
        if found.shape != out.shape:
            raise ExtentError(f"expected out of shape {found.shape}, but got {out.shape}")
        if found.dtype != out.dtype:
            raise DTypeError(f"expected out of dtype {found.dtype.name}, but got {out.dtype}")
        np.copyto(out, found)
        return out

    def operands(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the operands of the composed statement, for those of the statement as it was written.

        Raises:
            ExtentError: for axes that share an index and have different extents.
        """
        statement = self.statement
        if statement is None:
            return {name: value.made() if type(value) is DefinedTensor else value for name, value in given.items()}
        if statement.checks:
            names = {name for one in statement.checks for name in (one[0], one[2])}
            statement.check({name: _shape(given[name]) for name in names})
        found: dict[str, Any] = {}
        for new, name, operand in statement.operands:
            value = given[name]
            if type(value) is DefinedTensor:
                value = value.composable.operands[operand].value() if operand else value.made()
            found[new] = value
        for name, ones in statement.ones:
            found[name] = ones.value()
        for name, axes in self.splits.items():
            found[name] = _taken_apart(operand_check.value_of(name, found[name]), axes)
        result = statement.assignment.target.tensor
        return {**found, result: given[result]} if result in given and result not in found else found


def _taken_apart(array: Any, axes: Splits) -> Any:
    """Returns a view of an array with two axes in place of some."""
    shape, radices = [], dict(axes)
    for axis, size in enumerate(array.shape):
        radix = radices.get(axis)
        shape += [size] if radix is None else [size // radix, radix]
    return array.reshape(shape)


def _joined(array: Any, axes: Splits) -> Any:
    """Returns a view of an array with one axis in place of two."""
    shape, sizes, radices = [], iter(array.shape), dict(axes)
    for axis in range(array.ndim - len(axes)):
        size = next(sizes)
        shape.append(size * next(sizes) if axis in radices else size)
    return array.reshape(shape)


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
