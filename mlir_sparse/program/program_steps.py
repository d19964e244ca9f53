"""A program as data: everything except its machine code.

The plan makes it, saved kernels store it, and the runtime links it with the addresses of functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.program.blocks import Blocks
from mlir_sparse.program.cuts import Cut
from mlir_sparse.program.nest_call import NestCall
from mlir_sparse.program.steps import ArrayProduct, NativeStep

__all__ = ["ProgramSteps", "Step"]

Step = NestCall | NativeStep


@dataclass(frozen=True, slots=True)
class ProgramSteps:
    """The steps of a program.

    Args:
        steps: the steps, in order.
        result: the name of the value to return.
        type: the type of the result, with widths.
        identity: a text that is unique to this program.
        densified: whether it reads sparse operands as dense arrays.
        blocks: which of the steps may run for some rows at a time; None for none.
    """

    steps: tuple[Step, ...]
    result: str
    type: TensorType
    identity: str
    densified: bool
    blocks: Blocks | None = None

    @property
    def nests(self) -> Iterator[NestCall]:
        """Yields the calls of loop nests."""
        return (step for step in self.steps if isinstance(step, NestCall))

    @property
    def functions(self) -> tuple[str, ...]:
        """Returns the names of the functions that it calls: of loop nests, and of what combines results of chunks."""
        combining = (cut.combined_by for cut in self.cuts if cut.combined_by)
        return (*(nest.function for nest in self.nests), *combining)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Returns the cuts of its calls."""
        return tuple(nest.cut for nest in self.nests if nest.cut is not None)

    @property
    def calls_blas(self) -> bool:
        """Returns whether BLAS multiplies arrays."""
        return any(isinstance(step, ArrayProduct) for step in self.steps)

    @property
    def samples(self) -> bool:
        """Returns whether some loops compute values at the entries of an operand."""
        return any(nest.sampled is not None for nest in self.nests)

    @property
    def inserts(self) -> bool:
        """Returns whether some loops have a sparse result."""
        return any(nest.encoding is not None for nest in self.nests)
