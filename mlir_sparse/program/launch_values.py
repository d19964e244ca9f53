"""Launches as data: which kernel, on which grid, with which parameters.

Nothing here depends on a device. Kernels allocate nothing, are correct for any grid (they stride over it), and read and
write the buffers that their parameters name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import assert_never

from mlir_sparse.classes import dataclass
from mlir_sparse.program.size_values import Count, Whole, Within

__all__ = ["Array", "Choice", "Launch", "LevelBuffer", "Parameter", "Work", "chosen"]

# The driver's limits: 2^31 - 1 blocks along x, 65535 along y and z.
_MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)


@dataclass(frozen=True, slots=True)
class LevelBuffer:
    """The device address of a buffer of a sparse tensor, by its number in `A.storage.buffers()`."""

    tensor: str
    number: int


@dataclass(frozen=True, slots=True)
class Array:
    """The device address of a dense array, in C order."""

    tensor: str


Parameter = LevelBuffer | Array | Count
"""An address, eight bytes; or a count, as a signed integer of eight bytes."""


@dataclass(frozen=True, slots=True)
class Work:
    """The amount of work along one axis of a grid.

    Args:
        counts: factors of the number of items; none for a single item.
        per_block: the number of items that a block computes at a time.
    """

    counts: tuple[Count, ...] = ()
    per_block: int = 1

    def blocks(self, value_of: Callable[[Count], int], most: int) -> int:
        """Returns the number of blocks: enough for all items at once, but at most `most`.

        >>> from mlir_sparse.program.size_values import Extent
        >>> Work((Extent("i"),), per_block=256).blocks(lambda count: 1000, most=65535)
        4
        """
        return min(-(-math.prod(map(value_of, self.counts)) // self.per_block), most)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel.

    Args:
        kernel: the entry of the PTX module.
        grid: the work along x, y and z.
        block: threads along x, y and z.
        parameters: the kernel's parameters, in order.
    """

    kernel: str
    grid: tuple[Work, Work, Work]
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...]

    def blocks(self, value_of: Callable[[Count], int]) -> tuple[int, int, int]:
        """Returns the blocks along x, y and z; if one is 0, there is nothing to launch."""
        x, y, z = (work.blocks(value_of, most) for work, most in zip(self.grid, _MOST_BLOCKS, strict=True))
        return x, y, z


@dataclass(frozen=True, slots=True)
class Choice:
    """(conditions, launches) of which a call takes the first whose conditions hold; the last has none.

    A `Within` decides about speed only: the launches are correct even if it does not hold.
    """

    cases: tuple[tuple[tuple[Within | Whole, ...], tuple[Launch, ...]], ...]

    def chosen(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches to make."""
        return next(launches for tests, launches in self.cases if all(test.holds(value_of) for test in tests))


def chosen(steps: Sequence[Launch | Choice], value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
    """Returns the launches of some steps with choices resolved."""
    found: list[Launch] = []
    for step in steps:
        match step:
            case Launch():
                found.append(step)
            case Choice():
                found += step.chosen(value_of)
            case _:
                assert_never(step)
    return tuple(found)
