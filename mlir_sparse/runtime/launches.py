"""GPU programs as data: kernels in PTX, and with what and how often to launch them.

Nothing here knows a device. A driver loads `LaunchProgram.ptx` once, makes the tensors that
`makes` names, and then launches step by step. Kernels allocate nothing, are right for any
grid (they stride over it), and read and write the buffers that their parameters name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from mlir_sparse.dtypes import DType

__all__ = [
    "Array",
    "AxisSize",
    "Choice",
    "Count",
    "Extent",
    "Fixed",
    "Launch",
    "LaunchProgram",
    "LevelBuffer",
    "LevelSize",
    "Longest",
    "MakeArray",
    "MakeShared",
    "Parameter",
    "Positions",
    "Start",
    "Stored",
    "Within",
    "Work",
]

# What the driver takes: 2^31 - 1 blocks along x, 65535 along y and z.
_MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)


@dataclass(frozen=True, slots=True)
class LevelSize:
    """The size of a level of a sparse tensor: `A.storage.level_sizes[level]`."""

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class AxisSize:
    """An extent of a dense array: `x.shape[axis]`."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Stored:
    """How many coordinates a level of a sparse tensor stores; interleaved ones count once for all their levels."""

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class Positions:
    """How many positions a level of a sparse tensor stores: `len(A.storage.positions[level])`."""

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class Longest:
    """The most coordinates that one position of the level above has, such as the longest row of a CSR matrix.

    Read off the positions once a tensor; where that is not known, `Stored` of the level is an upper bound.
    """

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How far an index variable runs, by its name."""

    variable: str


@dataclass(frozen=True, slots=True)
class Start:
    """The least value of a dimension of a sparse tensor in its level space, where that is below 0; else 0.

    Diagonals reach beyond the edges of a matrix: `A.encoding.level_space().dim_bounds[dim]` says how far.
    """

    tensor: str
    dim: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number that is known when the kernel is compiled."""

    value: int


Count = LevelSize | AxisSize | Stored | Positions | Longest | Extent | Start | Fixed


@dataclass(frozen=True, slots=True)
class LevelBuffer:
    """The device address of a buffer of a sparse tensor, by its place in `A.storage.buffers()`."""

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
    """How much there is to do along one axis of a grid.

    Args:
        counts: factors of the number of pieces; none for a single one.
        per_block: how many of the pieces a block does at a time.
    """

    counts: tuple[Count, ...] = ()
    per_block: int = 1

    def blocks(self, value_of: Callable[[Count], int], most: int) -> int:
        """Returns the number of blocks: enough for all pieces at once, `most` at most.

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
        parameters: what the kernel takes, in order.
    """

    kernel: str
    grid: tuple[Work, Work, Work]
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...]

    def blocks(self, value_of: Callable[[Count], int]) -> tuple[int, int, int]:
        """Returns the blocks along x, y and z; where one is 0 there is nothing to launch."""
        x, y, z = (work.blocks(value_of, most) for work, most in zip(self.grid, _MOST_BLOCKS, strict=True))
        return x, y, z


@dataclass(frozen=True, slots=True)
class Within:
    """A condition on the data of a call: `left <= factor * right`."""

    left: Count
    factor: int
    right: Count = Fixed(1)

    def holds(self, value_of: Callable[[Count], int]) -> bool:
        """Returns whether the condition holds for these counts."""
        return value_of(self.left) <= self.factor * value_of(self.right)


@dataclass(frozen=True, slots=True)
class Choice:
    """Launches that compute the same, of which a call makes one: the first whose conditions hold.

    Args:
        cases: (conditions, launches), the last without conditions.
    """

    cases: tuple[tuple[tuple[Within, ...], tuple[Launch, ...]], ...]

    def chosen(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches to make."""
        return next(launches for tests, launches in self.cases if all(test.holds(value_of) for test in tests))


@dataclass(frozen=True, slots=True)
class MakeArray:
    """A dense array that the program writes: a temporary, or the result.

    Args:
        name: the value's name.
        dtype: its element type.
        shape: the index variable of each axis; loops over blocks and frames need the room that `Launch` counts tell.
    """

    name: str
    dtype: DType
    shape: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class MakeShared:
    """A sparse tensor with the structure of an operand, whose buffers but the values it shares.

    Args:
        name: the value's name.
        dtype: its element type.
        operand: whose structure it has.
    """

    name: str
    dtype: DType
    operand: str


@dataclass(frozen=True, slots=True)
class LaunchProgram:
    """A compiled GPU program.

    Args:
        ptx: one module, with all kernels.
        chip: what it was compiled for, such as `sm_90`.
        makes: the values that are not operands, the result among them.
        steps: what to launch, in order on one stream.
        result: the name of the value to return.
    """

    ptx: str
    chip: str
    makes: tuple[MakeArray | MakeShared, ...]
    steps: tuple[Launch | Choice, ...]
    result: str

    def launches(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches of a call, choices made."""
        found: list[Launch] = []
        for step in self.steps:
            match step:
                case Launch():
                    found.append(step)
                case Choice():
                    found += step.chosen(value_of)
                case _:
                    assert_never(step)
        return tuple(found)
