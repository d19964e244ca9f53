"""How loops are given to the threads of a GPU: what the plan decides, what kernels are written by, and why launched."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.program.size_values import Whole, Within

__all__ = ["ThreadMapping"]


@dataclass(frozen=True, slots=True)
class ThreadMapping:
    """One way to give the loops of a nest to threads.

    Args:
        name: what tells it from the others of its loop nest.
        roles: of each loop, the outermost first: `entries` (several loops as one), `run`, or one that a module of
            `gpu/kernels` writes.
        threads: along x and y of a block.
        lanes: threads along x that share a sum, or a row.
        chunk: entries that a row of threads takes one after another.
        atomic: whether several threads write to one element.
        tests: when it is taken; one without tests and needs is taken if none before it is, and those after it are never
            by themselves.
        kernel: what the kernel is called, where mappings share one that only differ in the shape of blocks.
        tile: columns that a thread takes together, whose sums it makes in one loop.
        adjacent: how many of those columns follow each other, and are read and written by one access.
        needs: what must hold besides for the mapping to be right.
    """

    name: str
    roles: tuple[str, ...]
    threads: tuple[int, int]
    lanes: int = 1
    chunk: int = 1
    atomic: bool = False
    tests: tuple[Within, ...] = ()
    kernel: str = ""
    tile: int = 1
    adjacent: int = 1
    needs: tuple[Whole, ...] = ()

    @property
    def conditions(self) -> tuple[Within | Whole, ...]:
        """Returns what must hold for it to be taken."""
        return *self.tests, *self.needs

    def role(self, depth: int) -> str:
        """Returns the role of a loop: those that none is named for are one thread's."""
        return self.roles[depth] if depth < len(self.roles) else "serial"
