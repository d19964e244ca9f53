"""The kernels of an operation's last calls, which are tried before anything else is known of the operands.

A kernel's own check of its operands takes a fraction of a microsecond. To find out which operation on which types a
call asks for takes many times as long.
"""

from __future__ import annotations

from typing import Any

from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.statement_optimizer import depends_on_data

__all__ = ["RecentKernels"]

# As many as a loop takes turns with; each that does not fit takes time.
_MOST = 4


class RecentKernels:
    """The kernels of an operation that decides by the types and the ranks of its operands alone."""

    __slots__ = ("_kernels",)

    def __init__(self) -> None:
        # Replaced whole, so that threads always find one or the other.
        self._kernels: tuple[Kernel, ...] = ()

    def run(self, operands: tuple[Any, ...]) -> Any:
        """Returns the result of the kernel that operands fit; None where they fit none."""
        for kernel in self._kernels:
            found = kernel.direct(operands)
            if found is not None:
                return found
        return None

    def keep(self, kernel: CompiledKernel | None) -> None:
        """Keeps the kernel of a call on the operands as they were given; not one whose statement data decides."""
        if isinstance(kernel, Kernel) and kernel not in self._kernels and not _is_by_data(kernel):
            self._kernels = (kernel, *self._kernels[: _MOST - 1])


def _is_by_data(kernel: Kernel) -> bool:
    return kernel.spec.rewriting is not None or depends_on_data(kernel.spec, "algebra")
