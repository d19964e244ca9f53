"""GPU programs as data: kernels in PTX, and their launches.

Nothing here depends on a device. The runtime loads `LaunchProgram.ptx` once, allocates the tensors in `makes`, and
launches step by step. Kernels allocate nothing, are correct for any grid (they stride over it), and read and write the
buffers that their parameters name.
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
    "MakeAssembled",
    "MakeBegins",
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
    """Alternative launches: a call makes those of the first case whose conditions hold.

    A `Within` decides about speed only: the launches are correct even if it does not hold.

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
        shape: the extent of each axis: an index variable, or a count for arrays that other kernels count into.
    """

    name: str
    dtype: DType
    shape: tuple[Extent | Product | Parts, ...]


@dataclass(frozen=True, slots=True)
class MakeBegins:
    """An array of integers: the begin of each owner's entries, and the end of the last one's.

    Args:
        name: the value's name.
        width: the bits of an integer.
        size: the number of integers.
    """

    name: str
    width: int
    size: Product


@dataclass(frozen=True, slots=True)
class MakeAssembled:
    """A sparse tensor with a new structure, allocated when the symbolic phase has counted its entries.

    Args:
        name: the value's name.
        dtype: its element type.
        encoding: its encoding, with widths: dense levels above compressed ones, or COO.
        shape: the index variable of each dimension.
        totals: for each compressed level, or for COO, the array of integers whose last element is the number of entries
            after all launches before.
        begins: the begins of entries in the first of those levels, which are its positions below a dense level.
        steps: the numeric phase: launches that fill coordinates and values.
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
        """Returns whether the encoding is COO."""
        return bool(self.encoding.aos_levels)

    def lengths(self, entries: Sequence[int]) -> tuple[int, ...]:
        """Returns the length of each buffer, values included, given the number of entries in each counted level."""
        if self.is_listed:
            return 2, entries[0] * len(self.shape), entries[0]
        above = (0, *entries)  # the length of the first positions is not used: they are `begins`, or two numbers
        pairs = [length for before, here in zip(above, entries, strict=False) for length in (before + 1, here)]
        return (*pairs, entries[-1])


@dataclass(frozen=True, slots=True)
class MakeShared:
    """A sparse tensor that shares the structure of an operand, or of its first levels.

    Args:
        name: the value's name.
        dtype: its element type.
        operand: the operand whose structure it shares.
        encoding: its encoding, with widths, if it shares the first levels only; None if it shares all.
        shape: the index variable of each dimension, likewise.
    """

    name: str
    dtype: DType
    operand: str
    encoding: Encoding | None = None
    shape: tuple[Extent, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A view of an operand: in level space, or as its stored fibres, one after another.

    Args:
        operand: the operand's name.
        depth: the number of levels above the fibres; 0 for level space.
        encoding: the encoding of the fibres, with widths: a dense level that numbers them, then those below.
        variable: the index variable that numbers fibres.
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
        chip: the chip that it was compiled for, such as `sm_90`.
        makes: the values to allocate, the result among them.
        steps: the launches, in order on one stream.
        result: the name of the value to return.
        assembled: the result, if its structure is new; its numeric phase runs after all other steps.
        rows: the result, if dense rows of it were computed on an operand's levels.
    """

    ptx: str
    chip: str
    makes: tuple[MakeArray | MakeBegins | MakeShared, ...]
    steps: tuple[Launch | Choice, ...]
    result: str
    assembled: MakeAssembled | None = None
    rows: SharedLevels | None = None

    def launches(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches of a call with choices resolved, without the numeric phase of a new structure."""
        return chosen(self.steps, value_of)


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
