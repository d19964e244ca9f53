"""The level tree of a storage (Chou et al. 2018, figure 4), up to a number of columns.

A node is one coordinate of one level, its children are its coordinates in the level below, and the leaves are the
values. A stored value takes a column, and so does a node without children. A node with children spans their columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.level_children import ChildReader
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["GAP", "Batch", "Cell", "LevelRow", "LevelTree", "level_tree"]

GAP = "_"
"""What stands for the coordinate and the value of a place that no parent reaches."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number at a place of the picture.

    Args:
        text: the number.
        column: its first column.
        stop: the column after the last.
        children: the columns of its children.
    """

    text: str
    column: int
    stop: int
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A level of the picture.

    Args:
        title: the level as it appears in the map.
        coordinates: the name of the coordinates, in brackets where they are not stored.
        nodes: its coordinates.
        positions: the begin of each parent's children and the end of the last; empty where the level has no positions.
        is_partial: whether it has more nodes than are drawn.
    """

    title: str
    coordinates: str
    nodes: tuple[Cell, ...]
    positions: tuple[Cell, ...]
    is_partial: bool

    @property
    def is_stored(self) -> bool:
        """Returns whether the coordinates are in memory."""
        return not self.coordinates.startswith("(")


@dataclass(frozen=True, slots=True)
class LevelTree:
    """The drawn part of a tensor, or of a batch.

    Args:
        label: the name of the batch, empty without batches.
        levels: the levels, outermost first.
        values: the leaves.
        columns: the number of columns drawn.
    """

    label: str
    levels: tuple[LevelRow, ...]
    values: tuple[Cell, ...]
    columns: int

    @property
    def is_partial(self) -> bool:
        """Returns whether there are more values than are drawn."""
        return any(row.is_partial for row in self.levels)


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch that a tree is of.

    Args:
        label: the name of the batch.
        index: its coordinates in the batch levels.
        padding: the number of padding coordinates in each level.
        values: the number of padding values.
    """

    label: str
    index: tuple[int, ...]
    padding: tuple[int, ...]
    values: int


def level_tree(storage: LevelStorage, columns: int, batch: Batch | None = None) -> LevelTree:
    """Returns the first columns of the level tree of plain storage, in time that depends on their number alone.

    >>> from mlir_sparse.tensor import tensor
    >>> tree = level_tree(tensor([[0.0, 2.0], [3.0, 4.0]]).storage, 10)
    >>> [cell.text for cell in tree.levels[1].positions], [cell.text for cell in tree.levels[1].nodes]
    (['0', '1', '3'], ['1', '0', '1'])
    """
    walk = _Walk(storage, columns, batch.index if batch else ())
    walk.below(len(walk.path), 0)
    ends = walk.columns
    if batch is not None:
        walk.add_padding(batch)
    encoding = storage.encoding
    rows = []
    for level, spec in list(enumerate(encoding.levels))[len(walk.path) :]:
        expr = spec.expr.to_text(encoding.dim_names, encoding.symbol_names)
        kind = spec.type.to_text(encoding.dim_names, encoding.symbol_names)
        nodes, positions = tuple(walk.nodes[level]), tuple(walk.positions(level, ends))
        name = _coordinates_name(storage, level)
        rows.append(LevelRow(f"level {level}, {expr} : {kind}", name, nodes, positions, level >= walk.partial_from))
    label = batch.label if batch else ""
    return LevelTree(label, tuple(rows), tuple(walk.values), max(1, walk.columns))


def _coordinates_name(storage: LevelStorage, level: int) -> str:
    if storage.coordinates[level] is None:
        return "(coordinates)"
    region = next((r for r in storage.encoding.aos_regions if level in r), None)
    title = storage.encoding.level_types[level].functions.coordinates_title
    return title if region is None else f"column {level - region.start} of coordinates[{region.start}]"


class _Walk:
    """Visits nodes, parents first, and assigns columns until none is left."""

    def __init__(self, storage: LevelStorage, limit: int, above: tuple[int, ...]) -> None:
        self.storage = storage
        self.limit = limit
        self.reader = ChildReader(storage)
        self.path = list(above)
        self.columns = 0
        self.rank = storage.encoding.lvl_rank
        self.partial_from = self.rank
        self.nodes: list[list[Cell]] = [[] for _ in range(self.rank)]
        self.values: list[Cell] = []
        self.parents: list[list[tuple[int, int]]] = [[] for _ in range(self.rank)]

    def below(self, level: int, parent: int) -> tuple[int, ...]:
        """Visits the nodes of a level under a parent, and returns their columns."""
        self.parents[level].append((parent, self.columns))
        starts = []
        for place, coordinate in self.reader.under(level, parent, self.path):
            if self.columns >= self.limit:
                self.partial_from = min(self.partial_from, level)
                break
            starts.append(self.columns)
            self._visit(level, place, coordinate)
        return tuple(starts)

    def _visit(self, level: int, place: int, coordinate: int | None) -> None:
        start = self.columns
        children: tuple[int, ...] = ()
        if level + 1 == self.rank:
            children = (start,)
            value = GAP if coordinate is None else _number(self.storage.values[place])
            self.values.append(Cell(value, start, start + 1))
        elif coordinate is not None:
            self.path.append(coordinate)
            children = self.below(level + 1, place)
            self.path.pop()
        self.columns = max(self.columns, start + 1)
        self.nodes[level].append(Cell(GAP if coordinate is None else str(coordinate), start, self.columns, children))

    def add_padding(self, batch: Batch) -> None:
        """Assigns columns to the padding of a batch."""
        if self.partial_from < self.rank:
            return
        begin = self.columns
        levels = zip(self.nodes, batch.padding, range(self.rank), strict=True)
        rows = [*levels, (self.values, batch.values, self.rank - 1)]
        for cells, count, level in rows:
            stop = min(begin + count, self.limit)
            cells += [Cell(GAP, column, column + 1) for column in range(begin, stop)]
            self.columns = max(self.columns, stop)
            if begin + count > self.limit:
                self.partial_from = min(self.partial_from, level)

    def positions(self, level: int, ends: int) -> Iterator[Cell]:
        """Yields the positions of the parents drawn, and the end of the very last parent."""
        stored = self.storage.positions[level]
        if stored is None:
            return
        loose = self.storage.encoding.level_types[level].functions.has_gaps
        starts = [column for _, column in self.parents[level]]
        stops = [*starts[1:], ends][: len(starts)]  # below an empty level there is no parent at all
        for (parent, column), stop in zip(self.parents[level], stops, strict=True):
            text = f"{stored[2 * parent]}:{stored[2 * parent + 1]}" if loose else str(stored[parent])
            yield Cell(text, column, max(stop, column + 1))
        if not loose:
            end = max(1, ends) if starts else 0
            yield Cell(str(stored[-1]), end, end + 1)


def _number(value: object) -> str:
    """Returns the shortest text of a value of any element type."""
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        return str(int(array))
    return f"{complex(array):g}" if array.dtype.kind == "c" else f"{float(array):g}"
