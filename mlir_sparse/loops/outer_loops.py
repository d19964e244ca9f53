"""Loops around lines whose rows they go through again and again.

The sparsifier reads and writes a row of the result for each stored entry. Where the loops
around do not move to another row, the part of the row that registers hold can stay there
for all of them: the line is cut into tiles, and the loops run once for each tile. Every
element still takes its summands in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir_sparse._mlir import ir
from mlir_sparse.loops.effects import root_of, writes_nothing
from mlir_sparse.loops.inner_loops import Line
from mlir_sparse.loops.regions import body_of, is_loop, is_nest, operations_in
from mlir_sparse.loops.remarks import Missed
from mlir_sparse.loops.value_origins import is_around, is_inside, parent_of

__all__ = ["OuterLoops", "nests_of"]


@dataclass(frozen=True, slots=True)
class OuterLoops:
    """Loops around lines of one row.

    Args:
        root: the outermost loop.
        lines: the lines: one, or one for each way that operands meet.
        path: the operations around the lines, the root among them.
        stays: whether the row is the same in all turns of the root; else what it is added to is read in each.
    """

    root: ir.Operation
    lines: tuple[Line, ...]
    path: tuple[ir.Operation, ...]
    stays: bool

    @property
    def store(self) -> ir.Operation:
        """Returns where the row is written."""
        return self.lines[0].stores[0]


def nests_of(lines: Sequence[Line]) -> list[tuple[Line, OuterLoops | Missed]]:
    """Returns the nests that lines are tiled in, no line in two of them, and why others are in none."""
    whys = [_why_no_row(line) for line in lines]
    rows = [line for line, why in zip(lines, whys, strict=True) if not why]
    found: list[tuple[Line, OuterLoops | Missed]] = []
    for line, why in zip(lines, whys, strict=True):
        if why:
            found.append((line, Missed(why)))
        elif not any(isinstance(nest, OuterLoops) and line in nest.lines for _, nest in found):
            found.append((line, _nest_around(line, rows)))
    return found


def _why_no_row(line: Line) -> str:
    """Returns why a line is none that adds to consecutive elements which it reads where it writes; "" where it is."""
    if len(line.stores) != 1 or line.loop.results or line.body[-1] != line.stores[0]:
        return "it does not store one row of the result"
    _, *address = line.stores[0].operands
    # Elements that a line calls by other places than their own would take their summands in another order.
    if address[-1] != body_of(line.loop).arguments[0]:
        return "it adds to other places than it runs over: storage in the order of the result is faster"
    written, loads = root_of(address[0]), [op for op in line.body if op.name == "memref.load"]
    read = [root_of(op.operands[0]) for op in loads]
    if written is None or any(root is None for root in read):
        return "what it reads may lie where it writes"
    same = [list(op.operands) for op, root in zip(loads, read, strict=True) if root == written]
    if not same:
        return "it does not add to the result: each element is written once"
    return "" if all(found == address for found in same) else "it reads other elements of the result than it writes"


def _nest_around(line: Line, rows: Sequence[Line]) -> OuterLoops | Missed:
    """Returns the largest nest whose loops stay in one row; else the innermost loop around the line, if it may be."""
    best: OuterLoops | Missed = Missed("no loop around it goes through one row again and again")
    parent = parent_of(line.loop)
    while is_nest(parent):
        lines = tuple(other for other in rows if is_around(parent, other.loop))
        why = _why_once(parent, lines)
        if why:
            return Missed(why) if isinstance(best, Missed) else best
        stays = _is_fixed_address(parent, lines)
        if is_loop(parent) and not any(_is_used(result) for result in parent.results):
            if not stays:
                return OuterLoops(parent, lines, _paths(parent, lines), stays) if isinstance(best, Missed) else best
            best = OuterLoops(parent, lines, _paths(parent, lines), stays)
        elif not stays:
            break
        parent = parent_of(parent)
    return best


def _paths(root: ir.Operation, lines: Sequence[Line]) -> tuple[ir.Operation, ...]:
    found: list[ir.Operation] = []
    for line in lines:
        op = line.loop
        while op != root:
            op = parent_of(op)
            if op not in found:
                found.append(op)
    return tuple(found)


def _why_once(op: ir.Operation, lines: Sequence[Line]) -> str:
    """Returns why an operation around lines may not run once for each tile; "" where it may.

    Nothing in it but the lines may write, what it reads must not be what they write, and
    all lines must be of one row between the same bounds.
    """
    first = lines[0]
    if any(is_inside(value, op) for value in first.bounds):
        return "how long its rows are changes in the loops around"
    if any(line.bounds != first.bounds or line.bits != first.bits or _row(line) != _row(first) for line in lines):
        return "the operands that meet have rows of different lengths or places"
    written = root_of(first.stores[0].operands[1])
    loops = [line.loop for line in lines]
    apart = all(writes_nothing(inner, written, loops) for inner in operations_in(op))
    return "" if apart else "the loops around it write more than its row, or read what it writes"


def _row(line: Line) -> list[ir.Value]:
    """Returns the buffer of a row, and which row it is."""
    _, buffer, *at = line.stores[0].operands
    return [buffer, *at[:-1]]


def _is_fixed_address(op: ir.Operation, lines: Sequence[Line]) -> bool:
    """Returns whether all turns of a loop write one row."""
    return not any(is_inside(value, op) for value in _row(lines[0]))


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None
