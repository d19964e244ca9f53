"""GPU programs as data: kernels in PTX, and with what and how often to launch them.

Nothing here knows a device. A driver loads `LaunchProgram.ptx` once, makes the tensors that
`makes` names, and then launches step by step. Kernels allocate nothing, are right for any
grid (they stride over it), and read and write the buffers that their parameters name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.size_values import (
    Address,
    AxisSize,
    Count,
    Extent,
    Fixed,
    LevelSize,
    Longest,
    Parts,
    Positions,
    Product,
    Start,
    Stored,
    Whole,
    Within,
)
from mlir_sparse.program.steps import SharedLevels

__all__ = [
    "Address",
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
    "MakeBegins",
    "MakeOwn",
    "MakeShared",
    "Parameter",
    "Parts",
    "Positions",
    "Product",
    "Start",
    "Stored",
    "View",
    "Whole",
    "Within",
    "Work",
    "chosen",
]

# What the driver takes: 2^31 - 1 blocks along x, 65535 along y and z.
_MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)


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
class Choice:
    """Launches that compute the same, of which a call makes one: the first whose conditions hold.

    Those of `Within` say which is the fastest; launches are right whether or not they hold.

    Args:
        cases: (conditions, launches), the last without conditions.
    """

    cases: tuple[tuple[tuple[Within | Whole, ...], tuple[Launch, ...]], ...]

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
            Of what other kernels count, how much there is to count.
    """

    name: str
    dtype: DType
    shape: tuple[Extent | Product | Parts, ...]


@dataclass(frozen=True, slots=True)
class MakeBegins:
    """Where the entries of each owner begin, and after them where the last one's end: an array of integers.

    Args:
        name: the value's name.
        width: their bits.
        size: how many there are.
    """

    name: str
    width: int
    size: Product


@dataclass(frozen=True, slots=True)
class MakeOwn:
    """A sparse tensor with a structure of its own, reserved once it is known how many entries it has.

    Args:
        name: the value's name.
        dtype: its element type.
        encoding: its storage, widths included: dense levels above compressed ones, or a list of coordinates.
        shape: the index variable of each dimension.
        totals: for each compressed level, or for a list, the array of integers whose last element is the number of
            entries, once all launches before are done.
        begins: where entries of the first of those levels begin, which are its positions below a dense level.
        steps: what to launch then; it fills the coordinates and values.
    """

    name: str
    dtype: DType
    encoding: Encoding
    shape: tuple[Extent, ...]
    totals: tuple[str, ...]
    begins: str
    steps: tuple[Launch | Choice, ...]

    @property
    def is_listed(self) -> bool:
        """Returns whether entries have the coordinates of all levels."""
        return bool(self.encoding.aos_levels)

    def lengths(self, entries: Sequence[int]) -> tuple[int, ...]:
        """Returns how long each buffer is, values included, given the entries of each level that was counted."""
        if self.is_listed:
            return 2, entries[0] * len(self.shape), entries[0]
        above = (0, *entries)  # the first positions are not asked for: they are where entries begin, or two
        pairs = [length for before, here in zip(above, entries, strict=False) for length in (before + 1, here)]
        return (*pairs, entries[-1])


@dataclass(frozen=True, slots=True)
class MakeShared:
    """A sparse tensor with the structure of an operand, or of the first of its levels, whose buffers it shares.

    Args:
        name: the value's name.
        dtype: its element type.
        operand: whose structure it has.
        encoding: its storage where it has the first levels only, widths included; None where it has all.
        shape: the index variable of each dimension then.
    """

    name: str
    dtype: DType
    operand: str
    encoding: Encoding | None = None
    shape: tuple[Extent, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """An operand as a program reads it: over its levels, or as its stored fibres, one after another.

    Args:
        operand: the operand's name.
        depth: how many levels are above the fibres; 0 for a tensor over its levels.
        encoding: the storage of the fibres: a dense level that counts them, then those below; widths included.
        variable: the index variable that counts fibres.
    """

    operand: str
    depth: int = 0
    encoding: Encoding | None = None
    variable: str = ""


@dataclass(frozen=True, slots=True)
class LaunchProgram:
    """A compiled GPU program.

    Args:
        ptx: one module, with all kernels.
        chip: what it was compiled for, such as `sm_90`.
        makes: the values that are not operands, the result among them.
        steps: what to launch, in order on one stream.
        result: the name of the value to return.
        own: the result, where its structure is its own; what it needs is launched after all other steps.
        rows: the result, where rows of it were computed.
    """

    ptx: str
    chip: str
    makes: tuple[MakeArray | MakeBegins | MakeShared, ...]
    steps: tuple[Launch | Choice, ...]
    result: str
    own: MakeOwn | None = None
    rows: SharedLevels | None = None

    def launches(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches of a call, choices made; those of a result with a structure of its own come after."""
        return chosen(self.steps, value_of)


def chosen(steps: Sequence[Launch | Choice], value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
    """Returns the launches of some steps, choices made."""
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
