"""What every compiled kernel can do, wherever it runs and whatever it was made of."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse import pipeline
from mlir_sparse.device import DeviceArray
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import IndexVar
from mlir_sparse.spec import KernelSpec
from mlir_sparse.tensor import DeviceTensor, SparseTensor
from mlir_sparse.text.shortened import shortened

__all__ = ["CompiledKernel", "Result", "StatementKernel"]

# What a call returns: an array for a dense result, a tensor for a sparse one; a tuple where there are several.
One = np.ndarray[Any, Any] | SparseTensor | DeviceArray | DeviceTensor
Result = One | tuple[One, ...]


class CompiledKernel(ABC):
    """A compiled statement or comprehension: call it with its operands, in order or by name.

    `Kernel` runs on the processor, `GpuKernel` on a GPU, `ComprehensionKernel` runs several statements. What one of
    them cannot do, it refuses by name.
    """

    @abstractmethod
    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result.

        Args:
            operands: the tensors read, in the order in which the text first names them.
            out: where a dense result goes.
            named: operands by name.
        """

    @abstractmethod
    def ir(self, stage: Any = ...) -> str:
        """Returns the kernel's text at a stage, from the notation down to machine code.

        Raises:
            UnsupportedError: for an unknown stage.
        """

    @abstractmethod
    def passes(self) -> pipeline.Trace:
        """Returns the module after each pass."""

    @abstractmethod
    def explain(self) -> str:
        """Returns what the kernel does, in which loops, over which storage, where, and why."""

    def remarks(self) -> tuple[pipeline.Remark, ...]:
        """Returns what the strategies for fast loops on a processor say: which were applied, and why others were not.

        Raises:
            UnsupportedError: by kernels for a GPU, whose `explain()` says how loops are given to threads.
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
        """Returns the structure of the result, its values all zero.

        Raises:
            UnsupportedError: by all but kernels of one statement for the processor.
        """
        raise self._refusal("assemble a structure", "call it")

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Any:
        """Computes the values of a result whose structure is there.

        Raises:
            UnsupportedError: by all but kernels of one statement for the processor.
        """
        raise self._refusal("compute values into a structure", "call it")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the kernel as machine code, to be loaded by `load` where no compiler is.

        Raises:
            UnsupportedError: by all but kernels of one statement for the processor.
        """
        raise self._refusal(f"save in {os.fspath(path)}", "pickle it, which compiles where it is loaded")

    def _refusal(self, what: str, instead: str) -> UnsupportedError:
        return UnsupportedError(
            f"expected a kernel of one statement for target='cpu' to {what}, but got {shortened(repr(self))}: {instead}"
        )


class StatementKernel(CompiledKernel):
    """A kernel of one statement.

    Args:
        spec: the statement, and the types of its tensors.
    """

    spec: KernelSpec

    @property
    def output(self) -> TensorType:
        """The type of the result: asked for, or inferred."""
        return self.spec.output

    @abstractmethod
    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Result:
        """Computes the result of operands by name.

        Args:
            bound: the operands.
            out: where a dense result goes.
            given: how far index variables run that no operand tells.
        """
