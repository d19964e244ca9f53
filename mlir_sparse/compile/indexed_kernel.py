"""Kernels of statements with index variables as values: calls make the vectors of positions that these read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse import pipeline
from mlir_sparse.compile import exploring
from mlir_sparse.compile.compiled_kernel import CompiledKernel, Result
from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import TooLargeError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, index_vectors, tensors_given
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.runtime.device.device_operands import is_on_device
from mlir_sparse.spec import Alternative, KernelSpec, bind_parameters, check_names, index_lengths
from mlir_sparse.tensor import to_device

__all__ = ["IndexedKernel", "index_arrays", "refuse_index_values", "with_index_arrays"]

Array = np.ndarray[Any, Any]
_DECLARED = TensorType(INTEGER, (None,))


_MOST_KEPT = 1 << 23
"""Positions that are kept from call to call: 64 MiB."""

_kept: Array = np.zeros(0, INTEGER.numpy)
"""The longest positions so far; all shorter ones are their beginning."""


def _positions(length: int) -> Array:
    global _kept
    if length <= len(_kept):
        return _kept[:length]
    try:
        check_fits(length * INTEGER.numpy.itemsize, "the positions of an index variable")
    except TooLargeError as error:
        raise TooLargeError(
            f"{error.message.partition(': choose')[0]}: in place of the variable as a value, multiply by a tensor that "
            "has its values at the entries"
        ) from error
    found = np.arange(length, dtype=INTEGER.numpy)
    found.flags.writeable = False
    if length <= _MOST_KEPT:
        _kept = found
    return found


def index_arrays(assignment: Assignment, given: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
    """Returns the vectors of positions that a statement reads, for its operands.

    Args:
        assignment: the statement.
        given: the operands by name, data or types.
        out: the tensor for the result, if there is one.

    Returns:
        the vectors by name; none where the operands have them.

    Raises:
        UnknownTensorError: for a tensor without an operand.
        ExtentError: for a variable without an extent, or with two.
    """
    vectors = index_vectors(assignment)
    if given.keys() >= vectors.keys():  # there are none, or pieces of a statement are given their parts of them
        return {}
    if any(isinstance(one, str | TensorType) for one in given.values()):
        return dict.fromkeys(vectors, _DECLARED)
    target = assignment.target.tensor
    names = tensors_given(assignment)
    check_names(assignment, (*(name for name in given if name != target or name in names), *vectors))
    shapes = {name: tuple(np.shape(given[name])) for name in names}
    shape = None if out is None or not hasattr(out, "shape") else tuple(out.shape)
    found: dict[str, Any] = {
        name: _positions(length) for name, length in index_lengths(assignment, shapes, shape).items()
    }
    if any(map(is_on_device, given.values())):
        return {name: to_device(one) for name, one in found.items()}
    return found


def with_index_arrays(assignment: Assignment, given: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
    """Returns operands with the vectors of positions that a statement reads; `index_arrays` says which."""
    return {**given, **index_arrays(assignment, given, out)}


def refuse_index_values(statement: Assignment | Comprehension, what: str) -> None:
    """Refuses a statement with index variables as values, for what takes its operands only.

    Args:
        statement: the statement.
        what: what refuses it.

    Raises:
        UnsupportedError: with the vectors to pass instead.
    """
    vectors = index_vectors(statement) if isinstance(statement, Assignment) else {}
    for variable in vectors.values():
        raise UnsupportedError(
            f"expected a statement without index variables as values for {what}, but got {variable} in '{statement}': "
            f"pass a vector of its values, as in `n({variable})` with np.arange"
        )


class IndexedKernel(CompiledKernel):
    """A kernel of a statement with index variables as values; it is called without the vectors of positions.

    Args:
        assignment: the statement.
        inner: its kernel, which reads these vectors as operands.
    """

    def __init__(self, assignment: Assignment, inner: CompiledKernel) -> None:
        self.assignment = assignment
        self.inner = inner
        self.parameters = tensors_given(assignment)

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result, as the kernel of the statement does.

        Raises:
            ExtentError: also for an index variable that no operand gives an extent.
        """
        return self.inner(**self._given(operands, named, out), out=out)

    def _given(self, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
        bound = bind_parameters(self.parameters, operands, named)
        return with_index_arrays(self.assignment, bound, out)

    @property
    def spec(self) -> KernelSpec:
        """The statement with the types of its tensors, the vectors of positions included."""
        found: KernelSpec = self.inner.spec  # type: ignore[attr-defined]
        return found

    @property
    def output(self) -> TensorType | tuple[TensorType, ...]:
        """The type of the result: the user's, or inferred."""
        return self.inner.output

    def ir(self, stage: Any = "linalg") -> str:
        """Returns the kernel's text at a stage, in which the vectors are arguments."""
        return self.inner.ir(stage)

    def passes(self) -> exploring.Passes:
        """Returns the module after each pass."""
        return self.inner.passes()

    def remarks(self) -> tuple[pipeline.Remark, ...]:
        """Returns the remarks of the strategies for fast loops."""
        return self.inner.remarks()

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel; with data, of the plan for it."""
        explain: Any = self.inner.explain
        told: str = explain(**self._given(operands, named)) if operands or named else explain()
        return f"{told}\n\nindices as values\n" + "\n".join(
            f"  {name}: the positions 0, 1, ... along {variable}, made by calls"
            for name, variable in index_vectors(self.assignment).items()
        )

    def alternatives(self, /, *operands: Any, **named: Any) -> tuple[Alternative, ...]:
        """Returns the ways to compute the statement, as `Kernel.alternatives` does."""
        found: Any = self.inner
        ways: tuple[Alternative, ...] = found.alternatives(
            **(self._given(operands, named) if operands or named else {})
        )
        return ways

    def assemble(self, /, *operands: Any, **named: Any) -> Any:
        """Runs the symbolic phase, as `Kernel.assemble` does."""
        return self.inner.assemble(**self._given(operands, named))

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Any:
        """Runs the numeric phase, as `Kernel.compute` does."""
        return self.inner.compute(**self._given(operands, named, out), out=out)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the kernel as machine code, which `load` reads without a compiler."""
        self.inner.save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedKernel, (self.assignment, self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)
