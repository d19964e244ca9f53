"""Loops around lines whose rows they go through again and again.

The sparsifier reads and writes a row of the result for each stored entry. Where the loops
around do not move to another row, the part of the row that registers hold can stay there
for all of them: the line is cut into tiles, and the loops run once for each tile. Every
element still takes its summands in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.effects import MemoryAccess, root_of, writes_nothing
from mlir_sparse.loops.inner_loops import Line
from mlir_sparse.loops.model import ForLoop
from mlir_sparse.loops.regions import is_loop, is_nest, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_around, is_inside, parent_of

__all__ = ["OuterLoops", "RowLoops", "loops_around"]


@dataclass(frozen=True, slots=True)
class OuterLoops:
    """Loops around lines of one row.

    Args:
        root: the outermost loop.
        lines: the lines: one, or one for each way that operands meet.
        stays: whether the row is the same in all iterations of the root; else what it is added to is read in each.
    """

    root: ir.Operation
    lines: tuple[Line, ...]
    stays: bool

    @property
    def store(self) -> MemoryAccess:
        """Returns where the row is written."""
        return self.lines[0].stores[0]


@dataclass(frozen=True, slots=True)
class RowLoops:
    """An innermost loop with the loops around it that are tiled.

    Args:
        innermost: the loop; of lines that are tiled together the first.
        around: the loops around it, or why none is tiled.
    """

    innermost: ForLoop
    around: OuterLoops | Missed

    @property
    def op(self) -> ir.Operation:
        """Returns the operation that the innermost loop is."""
        return self.innermost.op


def loops_around(lines: Sequence[Line]) -> list[RowLoops]:
    """Returns the nests that lines are tiled in, no line in two of them, and why others are in none."""
    whys = [_why_no_row(line) for line in lines]
    rows = [line for line, why in zip(lines, whys, strict=True) if not why]
    found: list[RowLoops] = []
    for line, why in zip(lines, whys, strict=True):
        if why:
            found.append(RowLoops(line.loop, Missed(why)))
        elif not any(isinstance(row.around, OuterLoops) and line in row.around.lines for row in found):
            found.append(RowLoops(line.loop, _nest_around(line, rows)))
    return found


def _why_no_row(line: Line) -> str:
    """Returns why a line is none that adds to consecutive elements which it reads where it writes; "" where it is."""
    if len(line.stores) != 1 or line.loop.results or line.body[-1] != line.stores[0].op:
        return "it does not store one row of the result"
    (store,) = line.stores
    # Elements that a line calls by other places than their own would take their summands in another order.
    if store.at[-1] != line.loop.index:
        return "it adds to other places than it runs over: storage in the order of the result is faster"
    written, read = root_of(store.buffer), [root_of(load.buffer) for load in line.loads]
    if written is None or any(root is None for root in read):
        return "what it reads may lie where it writes"
    same = [load.address for load, root in zip(line.loads, read, strict=True) if root == written]
    if not same:
        return "it does not add to the result: each element is written once"
    others = any(address != store.address for address in same)
    return "it reads other elements of the result than it writes" if others else ""


def _nest_around(line: Line, rows: Sequence[Line]) -> OuterLoops | Missed:
    """Returns the largest nest whose loops stay in one row; else the innermost loop around the line, if it may be."""
    best: OuterLoops | Missed = Missed("no loop around it goes through one row again and again")
    parent, stays = line.loop.around, True
    while stays and is_nest(parent):
        lines = tuple(other for other in rows if is_around(parent, other.op))
        why = _why_once(parent, lines)
        if why:
            return Missed(why) if isinstance(best, Missed) else best
        stays = not any(is_inside(value, parent) for value in _row(line))
        is_root = is_loop(parent) and not any(list(result.uses) for result in parent.results)
        if is_root and (stays or isinstance(best, Missed)):
            best = OuterLoops(parent, lines, stays)
        parent = parent_of(parent)
    return best


def _why_once(op: ir.Operation, lines: Sequence[Line]) -> str:
    """Returns why an operation around lines may not run once for each tile; "" where it may.

    Nothing in it but the lines may write, what it reads must not be what they write, and
    all lines must be of one row between the same bounds.
    """
    first = lines[0]
    if any(is_inside(value, op) for value in first.loop.bounds):
        return "how long its rows are changes in the loops around"
    if any(_extent(line) != _extent(first) or _row(line) != _row(first) for line in lines):
        return "the operands that meet have rows of different lengths or places"
    written, loops = root_of(first.stores[0].buffer), [line.op for line in lines]
    apart = all(writes_nothing(inner, written, loops) for inner in operations_in(op))
    return "" if apart else "the loops around it write more than its row, or read what it writes"


def _extent(line: Line) -> tuple[ir.Value | int, ...]:
    """Returns between which places a line runs, and how wide its elements are."""
    return (*line.loop.bounds, line.bits)


def _row(line: Line) -> tuple[ir.Value, ...]:
    """Returns the buffer of a row, and which row it is."""
    return line.stores[0].address[:-1]
