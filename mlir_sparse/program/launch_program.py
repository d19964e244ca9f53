"""GPU programs as data: kernels in PTX, and their launches.

The runtime loads `LaunchProgram.ptx` once, allocates the tensors in `makes`, and launches step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.launch_values import Choice, Launch, chosen
from mlir_sparse.program.size_values import Count, Extent, Parts, Product
from mlir_sparse.program.steps import FibreView, LevelSpaceView, SharedLevels

__all__ = ["LaunchProgram", "MakeArray", "MakeAssembled", "MakeBegins", "MakeShared"]


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
    """An array of `size` integers of `width` bits: the begin of each owner's entries, and the end of the last one's."""

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
        views: the operands that are also read over their levels, or as their fibres, under names of their own.
    """

    ptx: str
    chip: str
    makes: tuple[MakeArray | MakeBegins | MakeShared, ...]
    steps: tuple[Launch | Choice, ...]
    result: str
    assembled: MakeAssembled | None = None
    rows: SharedLevels | None = None
    views: tuple[LevelSpaceView | FibreView, ...] = ()

    def launches(self, value_of: Callable[[Count], int]) -> tuple[Launch, ...]:
        """Returns the launches of a call with choices resolved, without the numeric phase of a new structure."""
        return chosen(self.steps, value_of)
