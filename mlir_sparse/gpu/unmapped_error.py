"""What is said of loops that no threads are known for: known only once the sparsifier has made them."""

from __future__ import annotations

__all__ = ["UnmappedError"]

_WAY_OUT = "store operands in the order of the loops, such as CSR, compute parts by kernels of their own, or use"


class UnmappedError(ValueError):
    """Loops that are not mapped to threads: a refusal, and no failure of the compiler.

    >>> print(UnmappedError("expected a sum, but got none"))
    expected a sum, but got none (in the loops of a kernel for a GPU): store operands in the order of the loops, \
such as CSR, compute parts by kernels of their own, or use target='cpu'
    """

    def __str__(self) -> str:
        return f"{super().__str__()} (in the loops of a kernel for a GPU): {_WAY_OUT} target='cpu'"
