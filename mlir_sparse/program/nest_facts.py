"""What passes must know of a loop nest that its code does not say: facts of the plan, as one value a function."""

from __future__ import annotations

from typing import get_args

from mlir_sparse.classes import dataclass
from mlir_sparse.program.launch_values import Array, Launch, LevelBuffer, Work
from mlir_sparse.program.size_values import Count, Start, Stored, Whole, Within
from mlir_sparse.program.thread_mapping import ThreadMapping
from mlir_sparse.program.value_codec import ValueCodec

__all__ = [
    "FACTS",
    "BufferArgument",
    "ChainedSearch",
    "CoordinateSearch",
    "CountedSearch",
    "GroupSearch",
    "LevelSearch",
    "NestFacts",
    "RowSearch",
    "SegmentSearch",
    "StoredCoordinates",
    "ThreadedNest",
    "TwoPhaseResult",
]


@dataclass(frozen=True, slots=True)
class StoredCoordinates:
    """Where the coordinates of a level are: each `stride`-th of a buffer from `offset` on."""

    buffer: int
    stride: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True)
class CountedSearch:
    """A level whose coordinates are all there: a coordinate is a place, where the level is as large."""


@dataclass(frozen=True, slots=True)
class GroupSearch:
    """A level of `count` coordinates a parent: each is looked at."""

    coordinates: int
    count: int


@dataclass(frozen=True, slots=True)
class ChainedSearch:
    """A level whose coordinates stand beside those of the level above: the entries found there are narrowed down."""

    coordinates: StoredCoordinates


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """A level whose coordinates stand between two positions, in order: by bisection.

    Args:
        positions: their buffer.
        width: how many of them a parent has.
        coordinates: where those are.
    """

    positions: int
    width: int
    coordinates: StoredCoordinates


LevelSearch = CountedSearch | GroupSearch | ChainedSearch | SegmentSearch
"""How the coordinates of a level are searched for one."""


@dataclass(frozen=True, slots=True)
class CoordinateSearch:
    """How the elements of an operand are found that loops read as those of an array.

    Args:
        tensor: the operand.
        coordinates: an affine map from the coordinates and sizes of an element to those of each level, as MLIR has it.
        levels: how each level is searched.
        values: the number of the buffer of values.
        whole: whether there are zeros where it has no entry.
        widths: the bits of positions and of coordinates; 0 for those of `index`.
    """

    tensor: str
    coordinates: str
    levels: tuple[LevelSearch, ...]
    values: int
    whole: bool
    widths: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RowSearch:
    """How the rows of an operand are found that loops read as if all were there.

    Args:
        tensor: the operand.
        level: how its outermost level is searched.
        listed: whether the coordinates below are stored with each entry.
        stride: how far these are apart in the buffer that loops read, and from where on.
        widths: the bits of positions and of coordinates; 0 for those of `index`.
    """

    tensor: str
    level: SegmentSearch
    listed: bool
    stride: tuple[int, int]
    widths: tuple[int, int]


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """What an argument of a function over buffers is.

    Args:
        buffer: what it holds; None for the sizes of a tensor's levels.
        sizes: how many elements it has along each axis, or the sizes that it holds; none where nothing asks.
        stored: of positions, how many coordinates the level has, which are in the next argument.
        guards: axes that loops reach beyond, and from where on indices along them are counted; None for 0.
        search: how its elements are found, where it stands for an operand; how rows are, where it is the first
            argument of one.
    """

    buffer: LevelBuffer | Array | None
    sizes: tuple[Count, ...] = ()
    stored: Stored | None = None
    guards: tuple[tuple[int, Start | None], ...] = ()
    search: CoordinateSearch | RowSearch | None = None


@dataclass(frozen=True, slots=True)
class TwoPhaseResult:
    """A sparse result with a structure of its own, whose entries are counted, and then stored.

    Args:
        owners: how many loops have the entries of their iterations one behind another.
        counted: the last arguments of the function that counts.
        scanned: the arguments of the one that makes of counts where entries begin.
        filled: the last arguments of the function that stores.
    """

    owners: int
    counted: tuple[BufferArgument, ...]
    scanned: tuple[BufferArgument, ...]
    filled: tuple[BufferArgument, ...]


@dataclass(frozen=True, slots=True)
class ThreadedNest:
    """What kernels for a GPU are written by.

    Args:
        mappings: the ways to give its loops to threads.
        combine: the operator of the accumulation, by its plain name.
        arguments: those of the function, as code has them: a buffer each, and the sizes of levels.
        two_phase: how a result with a structure of its own comes about; None for any other.
        apart: whether iterations of loops are known to store to places of their own.
        scans: the name that kernels of a function begin with which scans counts, and has no loops; empty for others.
    """

    mappings: tuple[ThreadMapping, ...]
    combine: str
    arguments: tuple[BufferArgument, ...]
    two_phase: TwoPhaseResult | None = None
    apart: bool = False
    scans: str = ""


@dataclass(frozen=True, slots=True)
class NestFacts:
    """The facts of a loop nest.

    Args:
        rows: the axis of the result, the last argument, that calls are cut along, where no level of an operand says
            how far that goes: rows stand below other levels. None where there is none.
        slots: the arguments that are positions of levels of one coordinate or none a parent.
        sampled: whether the result has the entries of the one sparse operand, and is their values.
        scatters: whether there is room to scatter a row of an operand.
        short_rows: whether rows of the sparse operand are short as a rule.
        runs: the argument that begins with the coordinates of a list whose entries of one coordinate follow each other;
            None where there is none, or operands are merged with it.
        zeros: the argument with the sizes of the sparse operand, and its last level: rows that have fewer entries than
            that is long have a zero among what is accumulated. None where that does not matter.
        once: whether loops come to each element of the result in one place, once at most, and add to it there.
        threads: what kernels for a GPU are written by; None for the processor.
        alike: the arguments that are values of operands which are all equal, as calls look at.
    """

    rows: int | None = None
    slots: tuple[int, ...] = ()
    sampled: bool = False
    scatters: bool = False
    short_rows: bool = False
    runs: int | None = None
    zeros: tuple[int, int] | None = None
    once: bool = False
    threads: ThreadedNest | None = None
    alike: tuple[int, ...] = ()


FACTS = ValueCodec(
    [
        *(NestFacts, ThreadedNest, ThreadMapping, TwoPhaseResult, BufferArgument, CoordinateSearch, RowSearch),
        *(StoredCoordinates, *get_args(LevelSearch), Launch, Work, Array, LevelBuffer, Within, Whole),
        *get_args(Count),
    ]
)
"""What writes facts, and the launches that kernels came to."""
