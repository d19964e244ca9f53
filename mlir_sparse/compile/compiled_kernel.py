"""The interface of compiled kernels on every target."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse._mlir import parsed_by_caller
from mlir_sparse.compile import exploring
from mlir_sparse.compile.index_operands import bound_operands
from mlir_sparse.device import DeviceArray
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import IndexVar, is_made_by_calls
from mlir_sparse.process.forks import importing
from mlir_sparse.spec import KernelSpec
from mlir_sparse.tensor import DeviceTensor, SparseTensor
from mlir_sparse.text.given_arguments import text_of
from mlir_sparse.text.listed_words import listed
from mlir_sparse.text.shortened import shortened

if TYPE_CHECKING:
    from mlir_sparse.loops.remarks import Remark

__all__ = ["CompiledKernel", "Result", "StatementKernel"]

# The result of a call: an array if dense, a tensor if sparse, a tuple if there are several.
One = np.ndarray[Any, Any] | SparseTensor | DeviceArray | DeviceTensor
Result = One | tuple[One, ...]


_MODULES = ("linalg", "sparsified", "llvm")  # stages whose text is MLIR


class CompiledKernel(ABC):
    """A compiled statement or comprehension: call it with its operands, by position or by name.

    `Kernel` runs on the processor, `GpuKernel` on a GPU, and `ComprehensionKernel` runs several statements. A kernel
    that lacks a method refuses it by name.
    """

    parameters: tuple[str, ...]
    """The names of the operands, in the order in which the text first names them."""

    @abstractmethod
    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result.

        Args:
            operands: the tensors read, in the order in which the text first names them.
            out: an array for a dense result.
            named: operands by name.
        """

    @abstractmethod
    def ir(self, stage: Any = ...) -> str:
        """Returns the kernel's text at a stage, from the notation down to machine code.

        Raises:
            UnsupportedError: for an unknown stage.
        """

    def module(self, stage: str = "linalg") -> Any:
        """Returns the kernel as an `ir.Module` of MLIR's bindings, in the Context that the caller is in.

        Args:
            stage: one whose text is MLIR: `linalg`, `sparsified` or `llvm`.

        Raises:
            OperandError: outside of a Context: `with ir.Context(): ...`.
            UnsupportedError: for any other stage.
        """
        if text_of(stage, "a stage") not in _MODULES:
            raise UnsupportedError(f"expected a stage that is a module, {listed(_MODULES, 'or')}, but got {stage!r}")
        return parsed_by_caller(self.ir(stage))

    @abstractmethod
    def passes(self) -> exploring.Passes:
        """Returns the module after each pass."""

    @abstractmethod
    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel: its steps, loops, storage and target, with reasons.

        Args:
            operands: data, for the plan that a call on it takes; as the kernel was compiled when absent.
            named: the operands, by name.
        """

    def _repr_html_(self) -> str:
        """Returns what the kernel computes and how, for notebooks."""
        with importing():
            from mlir_sparse.compile.kernel_html import kernel_html  # for notebooks only

        return kernel_html(self, *self._described())

    @abstractmethod
    def _described(self) -> tuple[str, Iterable[tuple[str, Any]]]:
        """Returns what the kernel computes, and its operands with their types by name."""

    def remarks(self) -> tuple[Remark, ...]:
        """Returns the remarks of the strategies for fast loops: which were applied, and why others were not.

        Raises:
            UnsupportedError: by kernels for a GPU, whose `explain()` shows how threads share the loops.
        """
        raise UnsupportedError(
            f"expected a kernel for target='cpu' to have strategies for its loops, but got {self!r}: "
            "explain() says how its loops are given to threads"
        )

    @property
    @abstractmethod
    def output(self) -> TensorType | tuple[TensorType, ...]:
        """The type of the result, or a tuple of the types of several."""

    def assemble(self, /, *operands: Any, **named: Any) -> Any:
        """Runs the symbolic phase: returns the result with its structure and zeros for values.

        Raises:
            UnsupportedError: by all except kernels of one statement for the processor.
        """
        raise self._refusal("assemble a structure", "call it")

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Any:
        """Runs the numeric phase: computes the values of a result with a given structure.

        Raises:
            UnsupportedError: by all except kernels of one statement for the processor.
        """
        raise self._refusal("compute values into a structure", "call it")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the kernel as machine code, which `load` reads without a compiler.

        Raises:
            UnsupportedError: by all except kernels of one statement for the processor.
        """
        raise self._refusal(f"save in {os.fspath(path)}", "pickle it, which compiles where it is loaded")

    def _refusal(self, what: str, instead: str) -> UnsupportedError:
        return UnsupportedError(
            f"expected a kernel of one statement for target='cpu' to {what}, but got {shortened(repr(self))}: {instead}"
        )


class StatementKernel(CompiledKernel):
    """A kernel of one statement."""

    spec: KernelSpec

    def _described(self) -> tuple[str, Iterable[tuple[str, Any]]]:
        types = ((name, kind) for name, kind in self.spec.inputs if not is_made_by_calls(name))
        return str(self.spec.assignment), types

    @property
    def output(self) -> TensorType:
        """The type of the result: the user's, or inferred."""
        return self.spec.output

    def bound(self, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
        """Returns the operands of a call by name, with the vectors of positions that the statement reads.

        Raises:
            OperandError, UnknownTensorError, ExtentError: as `bound_operands` does.
        """
        return bound_operands(self.spec.assignment, operands, named, out)

    @abstractmethod
    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Result:
        """Computes the result for operands by name; `given` has the extents of variables that no operand determines."""
