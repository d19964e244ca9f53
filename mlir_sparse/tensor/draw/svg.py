"""The level tree as a self-contained SVG string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.draw.level_tree import Cell, LevelRow, LevelTree
from mlir_sparse.tensor.draw.picture import Picture, left_out_text

__all__ = ["svg_of"]

_CELL, _BOX, _BAND, _MARGIN, _LABEL = 34, 22, 58, 12, 20
_CHARACTER = 7.3  # width at 12 px in common monospaced fonts
_INK, _FAINT, _STORED, _VALUE = "#222", "#999", "#dbe9f6", "#fde9c9"


def svg_of(picture: Picture) -> str:
    """Returns the trees as SVG: filled boxes are stored, dashed ones are not; positions are above."""
    frame = _Frame.of(picture)
    parts = [_text(_MARGIN, _MARGIN + 12, picture.title, "start")]
    for tree in picture.trees:
        parts += _tree(frame, tree)
        frame = replace(frame, top=frame.top + _height(tree))
    if picture.left_out:
        parts.append(_text(_MARGIN, frame.top + _LABEL, left_out_text(picture), "start"))
    width, height = frame.width, frame.height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="monospace" font-size="12" fill="{_INK}">'
    )
    return "\n".join([head, f'<rect width="{width:g}" height="{height:g}" fill="white"/>', *parts, "</svg>", ""])


def _tree(frame: _Frame, tree: LevelTree) -> Iterator[str]:
    if tree.label:
        yield _text(_MARGIN, frame.top + _LABEL, tree.label, "start")
        frame = replace(frame, top=frame.top + _LABEL)
    parents: tuple[Cell, ...] = ()
    for level, row in enumerate(tree.levels):
        yield from _level(frame, row, level, parents)
        parents = row.nodes
    at = len(tree.levels)
    yield from _edges(frame, parents, tree.values, at)
    yield _text(_MARGIN, frame.y(at) + 4, "values", "start")
    yield from _boxes(frame, tree.values, at, _VALUE)
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
        cell = max(_CELL, longest * _CHARACTER + 10)
        labels = [part for row in rows for part in (row.title, row.coordinates)]
        left = _MARGIN * 2 + max(map(len, labels), default=0) * _CHARACTER
        columns = max((tree.columns for tree in trees), default=0)
        width = max(left + (columns + 2) * cell, 2 * _MARGIN + len(picture.title) * _CHARACTER)
        height = _MARGIN * 2 + 24 + sum(map(_height, trees)) + (_LABEL if picture.left_out else 0)
        return _Frame(left, cell, width, height)

    def x(self, cell: Cell) -> float:
        """Returns the middle of a node over its columns."""
        return self.left + (cell.column + cell.stop) * self.cell / 2

    def y(self, level: int) -> float:
        """Returns the middle of the boxes of a level."""
        return self.top + 26 + level * _BAND


def _level(frame: _Frame, row: LevelRow, level: int, parents: tuple[Cell, ...]) -> Iterator[str]:
    y = frame.y(level)
    yield from _edges(frame, parents, row.nodes, level)
    yield _text(_MARGIN, y - 4, row.title, "start")
    yield _text(_MARGIN, y + 10, row.coordinates, "start", _FAINT)
    yield from _boxes(frame, row.nodes, level, _STORED if row.is_stored else "")
    for cell in row.positions:
        x = frame.left + cell.column * frame.cell
        yield _text(x, y - _BOX / 2 - 3, cell.text, "middle", "#1f5fa8")
    yield from _more(frame, level, row.is_partial)


def _edges(frame: _Frame, parents: Iterable[Cell], nodes: Iterable[Cell], level: int) -> Iterator[str]:
    below = {cell.column: cell for cell in nodes}
    for parent in parents:
        for child in parent.children:
            top, bottom = frame.y(level - 1) + _BOX / 2, frame.y(level) - _BOX / 2
            here, there = frame.x(parent), frame.x(below[child])
            yield f'<line x1="{here:g}" y1="{top:g}" x2="{there:g}" y2="{bottom:g}" stroke="{_FAINT}"/>'


def _boxes(frame: _Frame, cells: Iterable[Cell], level: int, fill: str) -> Iterator[str]:
    style = f'fill="{fill}" stroke="{_INK}"' if fill else f'fill="white" stroke="{_FAINT}" stroke-dasharray="3 2"'
    width = frame.cell - 8
    for cell in cells:
        x, y = frame.x(cell), frame.y(level)
        yield f'<rect x="{x - width / 2:g}" y="{y - _BOX / 2:g}" width="{width:g}" height="{_BOX}" rx="3" {style}/>'
        yield _text(x, y + 4, cell.text, "middle")


def _more(frame: _Frame, level: int, is_partial: bool) -> Iterator[str]:
    if is_partial:
        yield _text(frame.width - _MARGIN, frame.y(level) + 4, "...", "end")


def _text(x: float, y: float, text: str, anchor: str, fill: str = _INK) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
