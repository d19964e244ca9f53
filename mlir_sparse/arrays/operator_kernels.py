"""Kernels for operators, compiled once for each operation and combination of operand types."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mlir_sparse.arrays.flat_places import Array
from mlir_sparse.arrays.recent_kernels import RecentKernels
from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.notation import Access, Assignment, AssignOp, Expr, IndexVar
from mlir_sparse.tensor import SparseTensor

__all__ = ["access", "assignment", "computed"]

Value = Array | SparseTensor

# The size of the cache: enough for a program's operators, but bounded, as each kernel has machine code.
_CAPACITY = 512
_kernels: dict[Hashable, CompiledKernel] = {}


def computed(
    operation: Hashable,
    make: Callable[[], Assignment],
    operands: Sequence[Value],
    out: str | None = None,
    recent: RecentKernels | None = None,
) -> Any:
    """Computes an operation on operands.

    Args:
        operation: the key of the assignment.
        make: returns the assignment on `a0`, `a1`, ...; called for new combinations only.
        operands: arrays and tensors.
        out: the storage of the result; inferred when None.
        recent: where to keep the kernel, for calls on the same operands.
    """
    key = (operation, out, *map(_signature, operands))
    kernel = _kernels.get(key)
    if kernel is None:
        named = {f"a{number}": operand for number, operand in enumerate(operands)}
        kernel = compile(make(), out=out, tensors=named)
        if len(_kernels) >= _CAPACITY:
            _kernels.clear()
        _kernels[key] = kernel
    if recent is not None:
        recent.keep(kernel)
    return kernel(*operands)


def _signature(operand: Value) -> Hashable:
    if isinstance(operand, SparseTensor):
        return operand.dtype, operand.encoding
    return operand.dtype, operand.ndim


def access(number: int, labels: Sequence[str]) -> Access:
    """Returns operand `a<number>` at index variables."""
    return Access(f"a{number}", tuple(map(IndexVar, labels)))


def assignment(labels: Sequence[str], value: Expr) -> Assignment:
    """Returns the assignment of a value to the result at index variables."""
    return Assignment(Access("out", tuple(map(IndexVar, labels))), AssignOp.ASSIGN, value)
