"""What a kernel computes by, beside its statement and schedule."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.statement_optimizer import DataSketches
from mlir_sparse.encoding import TensorType

__all__ = ["DEFAULT_SETTINGS", "KernelSettings"]


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """The limits of a kernel's calls, and how its statement is planned.

    Args:
        threads: the greatest number of threads of a call; None for the process' limit.
        deterministic: whether results must be the same, bit for bit, for any number of threads.
        inferred: the types of the operands for which a dense result was inferred: others are suggested where it is far
            too large.
        optimize: how the statement is optimized.
        data: what the rewriting was chosen for.
    """

    threads: int | None = None
    deterministic: bool = False
    inferred: tuple[tuple[str, TensorType], ...] = ()
    optimize: str = "off"
    data: DataSketches | None = None


DEFAULT_SETTINGS = KernelSettings()
"""No limits, and the statement as it is given."""
