"""What the arguments of a function over buffers are: what kernels of a GPU are handed over, and its sizes."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import buffer_numbers, level_buffers
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.notation import Access, IndexVar, Subscript
from mlir_sparse.plan.mapping.two_phase_results import TwoPhaseAssembly, scanned_arrays
from mlir_sparse.plan.plan_steps import Generic, Located, LocatedRows, NestFunction, Program
from mlir_sparse.program import ExtentVector
from mlir_sparse.program.launch_values import Array, LevelBuffer
from mlir_sparse.program.nest_facts import (
    BufferArgument,
    ChainedSearch,
    CoordinateSearch,
    CountedSearch,
    GroupSearch,
    LevelSearch,
    RowSearch,
    SegmentSearch,
    StoredCoordinates,
    TwoPhaseResult,
)
from mlir_sparse.program.size_values import AxisSize, Count, Extent, LevelSize, Positions, Start, Stored

__all__ = ["arguments_of", "two_phase_arguments"]


def arguments_of(
    function: NestFunction, program: Program, two_phase: TwoPhaseAssembly | None
) -> tuple[BufferArgument, ...]:
    """Returns the arguments of a function; of one whose result has a structure of its own those of its operands."""
    reader = _Reader(function, program)
    found = [argument for access in function.operands for argument in reader.operand(access)]
    target, encoding = function.step.target, program.type_of(function.step.result).encoding
    if encoding is None:
        found.append(reader.array(target))
    elif two_phase is None:  # all but the values are those of an operand
        found.append(BufferArgument(LevelBuffer(target.tensor, len(level_buffers(encoding)))))
    return tuple(found)


def two_phase_arguments(step: Generic, program: Program, two_phase: TwoPhaseAssembly) -> TwoPhaseResult:
    """Returns what else the functions have that a result with a structure of its own takes."""
    encoding = program.type_of(step.result).encoding
    assert encoding is not None
    scanned = [tuple(map(_vector, scanned_arrays(step.result, level))) for level in two_phase.levels]
    counts, _, begins = zip(*scanned, strict=True)
    # The first positions are where entries of the first level begin, or known without a kernel.
    rest = (BufferArgument(LevelBuffer(step.result, number + 1)) for number in range(len(level_buffers(encoding))))
    return TwoPhaseResult(len(two_phase.owners), counts, scanned[0], (*begins, *rest))


def _vector(name: str) -> BufferArgument:
    return BufferArgument(Array(name), (AxisSize(name, 0),))


class _Reader:
    """Reads off a program what the operands of a function are.

    Loops over blocks and over diagonals reach beyond the edges of arrays; indices along these are guarded.
    """

    def __init__(self, function: NestFunction, program: Program) -> None:
        self._program = program
        self._extents = {step.result: step.variable for step in program.steps if isinstance(step, ExtentVector)}
        self._located = {step.result: step for step in program.steps if isinstance(step, Located | LocatedRows)}
        # Counted from 0 over blocks, and from the first diagonal.
        self._beyond: dict[Subscript, Start | None] = {
            frame.subscript: Start(frame.operand, frame.dim) for frame in function.step.frames
        }
        for access in function.operands:
            encoding = program.type_of(access.tensor).encoding
            for dim, subscript in enumerate(access.subscripts if encoding is not None else ()):
                if encoding is not None and isinstance(subscript, IndexVar) and encoding.block_of(dim) > 1:
                    self._beyond[subscript] = None

    def operand(self, access: Access) -> Iterator[BufferArgument]:
        """Yields the arguments of an operand: of levels positions and coordinates, then values, and sizes of levels."""
        encoding = self._program.type_of(access.tensor).encoding
        if encoding is None:
            yield self.array(access)
            return
        rows = self._located.get(access.tensor)
        name, first, search = access.tensor, 0, None
        if isinstance(rows, LocatedRows):
            name, first, search = rows.operand, rows.first, self._rows(rows)
        for number, array in enumerate(level_buffers(encoding)):
            buffer, level = LevelBuffer(name, first + number), array.level
            known = None if number else search
            if array.kind == "positions":
                yield BufferArgument(buffer, (Positions(name, level),), Stored(name, level), search=known)
            else:
                yield BufferArgument(buffer, search=known)
        yield BufferArgument(LevelBuffer(name, first + len(level_buffers(encoding))))
        yield BufferArgument(None, tuple(LevelSize(name, level) for level in range(encoding.lvl_rank)))

    def array(self, access: Access) -> BufferArgument:
        """Returns the argument of an array, or of what loops read as one."""
        name, located = access.tensor, self._located.get(access.tensor)
        source = located.source if isinstance(located, Located) else name
        sizes: tuple[Count, ...] = tuple(AxisSize(source, axis) for axis in range(len(access.subscripts)))
        if name in self._extents:
            sizes = (Extent(self._extents[name]),)
        guards = [(axis, self._beyond[s]) for axis, s in enumerate(access.subscripts) if s in self._beyond]
        search = self._elements(located) if isinstance(located, Located) else None
        return BufferArgument(Array(name), sizes, guards=tuple(guards), search=search)

    def _elements(self, step: Located) -> CoordinateSearch:
        stored = self._stored(step.operand)
        levels, values = tuple(_searches(stored)), len(level_buffers(stored))
        widths = stored.pos_width, stored.crd_width
        return CoordinateSearch(step.operand, str(step.coordinates), levels, values, step.whole, widths)

    def _rows(self, step: LocatedRows) -> RowSearch:
        stored = self._stored(step.operand)
        level = next(_searches(stored))
        assert isinstance(level, SegmentSearch)
        listed = stored.level_types[1].functions.is_chained
        return RowSearch(step.operand, level, listed, step.stride, (stored.pos_width, stored.crd_width))

    def _stored(self, name: str) -> Encoding:
        encoding = self._program.type_of(name).encoding
        assert encoding is not None
        return encoding


def _searches(encoding: Encoding) -> Iterator[LevelSearch]:
    """Yields how each level is searched."""
    places = buffer_numbers(encoding)
    together = encoding.aos_levels
    for level, kind in enumerate(encoding.level_types):
        assert kind.loop is not None  # what is looked up has levels that loops run over
        stride, offset = (len(together), level - together[0]) if level in together else (1, 0)
        match kind.loop:
            case LevelLoop(LoopKind.FULL):
                yield CountedSearch()
            case LevelLoop(LoopKind.GROUPS, count):
                yield GroupSearch(places[level, "coordinates"], count)
            case LevelLoop(LoopKind.CHAINED):
                yield ChainedSearch(StoredCoordinates(places[level, "coordinates"], stride, offset))
            case LevelLoop(LoopKind.SEGMENTS, width):
                coordinates = StoredCoordinates(places[level, "coordinates"], stride, offset)
                yield SegmentSearch(places[level, "positions"], width, coordinates)
