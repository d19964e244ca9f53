"""The level tree as boxes, lines and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.draw.canvas import CHARACTER, Box, Canvas, Paint, Shape, Stroke, Words
from mlir_sparse.tensor.draw.level_tree import Cell, LevelRow, LevelTree
from mlir_sparse.tensor.draw.picture import Picture, left_out_text

__all__ = ["tree_canvas"]

_CELL, _BOX, _BAND, _MARGIN, _LABEL = 34, 22, 58, 12, 20


def tree_canvas(picture: Picture) -> Canvas:
    """Returns the trees as a canvas: filled boxes are stored, dashed ones are not; positions are above."""
    frame = _Frame.of(picture)
    width, height = frame.width, frame.height
    shapes: list[Shape] = [Words(_MARGIN, _MARGIN + 12, picture.title)]
    for tree in picture.trees:
        shapes += _tree(frame, tree)
        frame = replace(frame, top=frame.top + _height(tree))
    if picture.left_out:
        shapes.append(Words(_MARGIN, frame.top + _LABEL, left_out_text(picture)))
    return Canvas(width, height, picture.title, tuple(shapes))


def _tree(frame: _Frame, tree: LevelTree) -> Iterator[Shape]:
    if tree.label:
        yield Words(_MARGIN, frame.top + _LABEL, tree.label)
        frame = replace(frame, top=frame.top + _LABEL)
    parents: tuple[Cell, ...] = ()
    for level, row in enumerate(tree.levels):
        yield from _level(frame, row, level, parents)
        parents = row.nodes
    at = len(tree.levels)
    yield from _edges(frame, parents, tree.values, at)
    yield Words(_MARGIN, frame.y(at) + 4, "values")
    yield from _boxes(frame, tree.values, at, "value")
    yield from _more(frame, at, tree.is_partial)


def _height(tree: LevelTree) -> float:
    return (len(tree.levels) + 1) * _BAND + (_LABEL if tree.label else 0)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The coordinates of columns and levels of the tree that begins at `top`."""

    left: float
    cell: float
    width: float
    height: float
    top: float = _MARGIN + 24

    @staticmethod
    def of(picture: Picture) -> _Frame:
        trees = picture.trees
        rows = [row for tree in trees for row in tree.levels]
        texts = [cell.text for row in rows for cell in (*row.nodes, *row.positions)]
        longest = max(map(len, [*texts, *(cell.text for tree in trees for cell in tree.values), "..."]))
        cell = max(_CELL, longest * CHARACTER + 10)
        labels = [part for row in rows for part in (row.title, row.coordinates)]
        left = _MARGIN * 2 + max(map(len, labels), default=0) * CHARACTER
        columns = max((tree.columns for tree in trees), default=0)
        width = max(left + (columns + 2) * cell, 2 * _MARGIN + len(picture.title) * CHARACTER)
        height = _MARGIN * 2 + 24 + sum(map(_height, trees)) + (_LABEL if picture.left_out else 0)
        return _Frame(left, cell, width, height)

    def x(self, cell: Cell) -> float:
        """Returns the middle of a node over its columns."""
        return self.left + (cell.column + cell.stop) * self.cell / 2

    def y(self, level: int) -> float:
        """Returns the middle of the boxes of a level."""
        return self.top + 26 + level * _BAND


def _level(frame: _Frame, row: LevelRow, level: int, parents: tuple[Cell, ...]) -> Iterator[Shape]:
    y = frame.y(level)
    yield from _edges(frame, parents, row.nodes, level)
    yield Words(_MARGIN, y - 4, row.title)
    yield Words(_MARGIN, y + 10, row.coordinates, "start", "faint")
    yield from _boxes(frame, row.nodes, level, "stored" if row.is_stored else "paper")
    for cell in row.positions:
        x = frame.left + cell.column * frame.cell
        yield Words(x, y - _BOX / 2 - 3, cell.text, "middle", "position")
    yield from _more(frame, level, row.is_partial)


def _edges(frame: _Frame, parents: Iterable[Cell], nodes: Iterable[Cell], level: int) -> Iterator[Shape]:
    below = {cell.column: cell for cell in nodes}
    for parent in parents:
        for child in parent.children:
            top, bottom = frame.y(level - 1) + _BOX / 2, frame.y(level) - _BOX / 2
            here, there = frame.x(parent), frame.x(below[child])
            yield Stroke(here, top, there, bottom)


def _boxes(frame: _Frame, cells: Iterable[Cell], level: int, fill: Paint) -> Iterator[Shape]:
    counted = fill == "paper"
    width = frame.cell - 8
    for cell in cells:
        x, y = frame.x(cell), frame.y(level)
        yield Box(x - width / 2, y - _BOX / 2, width, _BOX, fill, "faint" if counted else "ink", counted)
        yield Words(x, y + 4, cell.text, "middle")


def _more(frame: _Frame, level: int, is_partial: bool) -> Iterator[Shape]:
    if is_partial:
        yield Words(frame.width - _MARGIN, frame.y(level) + 4, "...", "end")
