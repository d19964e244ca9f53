"""The level tree in characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlir_sparse.tensor.draw.level_tree import Cell, LevelTree
from mlir_sparse.tensor.draw.picture import Picture, left_out_text

__all__ = ["text_of"]

_MORE = "..."
_BETWEEN = 2


def text_of(picture: Picture) -> str:
    """Returns the trees as lines of text, the outermost level first, each coordinate above its children."""
    lines = [picture.title]
    for tree in picture.trees:
        lines += ["", tree.label] if tree.label else []
        lines += _tree_lines(tree)
    if picture.left_out:
        lines += ["", left_out_text(picture)]
    return "\n".join(lines)


def _tree_lines(tree: LevelTree) -> list[str]:
    offsets = _offsets(tree)
    lines: list[tuple[str, str, str]] = []
    above: Sequence[Cell] = ()
    for row in tree.levels:
        lines.append(("", "", _branches(above, offsets)))
        title = row.title
        if row.positions:
            lines.append((title, "positions", _numbers(row.positions, offsets, tree.is_partial)))
            title = ""
        lines.append((title, row.coordinates, _numbers(row.nodes, offsets, row.is_partial)))
        above = row.nodes
    lines.append(("", "", _branches(above, offsets)))
    lines.append(("values", "", _numbers(tree.values, offsets, tree.is_partial)))
    return _in_columns(lines)


def _offsets(tree: LevelTree) -> list[int]:
    """Returns the offset of each column, of the end, and of the mark for further nodes."""
    widths = [1] * (tree.columns + 1)
    rows = [tree.values, *(cells for row in tree.levels for cells in (row.nodes, row.positions))]
    for cell in (cell for cells in rows for cell in cells):
        widths[cell.column] = max(widths[cell.column], len(cell.text))
    offsets = [0]
    for width in widths:
        offsets.append(offsets[-1] + width + _BETWEEN)
    return offsets


def _numbers(cells: Iterable[Cell], offsets: Sequence[int], is_partial: bool) -> str:
    line = ""
    for cell in cells:
        if is_partial and cell.column == len(offsets) - 2:
            return f"{line.ljust(offsets[cell.column])}{_MORE}  {cell.text}"  # the end of the very last parent
        line = line.ljust(offsets[cell.column]) + cell.text
    return f"{line.ljust(offsets[-2])}{_MORE}" if is_partial else line


def _branches(parents: Iterable[Cell], offsets: Sequence[int]) -> str:
    """Returns the lines from parents to children: straight down to the first, and across to the others."""
    line = ""
    for parent in parents:
        for at, child in enumerate(parent.children):
            last = at == len(parent.children) - 1
            if at == 0:
                line = line.ljust(offsets[child]) + ("│" if last else "├")
            else:
                line = line.ljust(offsets[child], "─") + ("┐" if last else "┬")
    return line


def _in_columns(lines: Sequence[tuple[str, str, str]]) -> list[str]:
    first, second = (max(len(line[at]) for line in lines) for at in range(2))
    filled = [line for line in lines if any(line)]
    return [f"{title.ljust(first)}  {name.ljust(second)}  {rest}".rstrip() for title, name, rest in filled]
