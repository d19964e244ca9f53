"""How entries of a sparse result get into memory, and how the ends of rows do.

Two writers share the loops. One lays a result out: coordinates, positions and values
are stored as they come. The other has the structure given, stores values in their
order, and looks whether the loops come by the coordinates that it finds there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.assembly.layout import Result
from mlir_sparse.pipeline.assembly.workspace import Workspace

__all__ = ["Computing", "Laying", "Writer"]


class Writer(ABC):
    """What both writers do.

    Args:
        result: the buffers.

    The number of entries of the last level is passed from loop to loop where the
    sparsifier passed the tensor; that of each level above it is in a cell.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.last = result.rank - 1
        self.start = code.load(result.control, result.count_slot(self.last))
        self.cells = {
            level: code.alloca_cell(code.load(result.control, result.count_slot(level)))
            for level in range(result.depth, self.last)
            if not result.appends_all
        }

    @property
    def inserts_in_order(self) -> bool:
        """Returns whether entries of a row may be inserted in their order, one by one, rather than appended."""
        return False

    @abstractmethod
    def insert(self, count: Any, value: Any, coordinates: Sequence[Any], holds: Any | None = None) -> Any:
        """Writes an entry, if a condition holds; returns the number of entries after it."""

    @abstractmethod
    def compress(self, count: Any, touched: Any, coordinates: Sequence[Any]) -> Any:
        """Writes a row from the workspace; returns the number of entries after it."""

    def close(self, level: int, coordinates: Sequence[Any], before: Any, after: Any) -> None:
        """Writes the end of the children of one coordinate of a level.

        Args:
            level: the level, not the last.
            coordinates: those of this level and all above.
            before: the number of entries of the last level when the children began.
            after: the same at their end.
        """
        if self.result.appends_all or level < self.result.depth - 1:
            return
        if level >= self.result.depth:
            code.branch(code.compare("ne", before, after), lambda: self._append(level, coordinates[level], after))
            return
        node = coordinates[0]
        for size, coordinate in zip(self.result.sizes[1:], coordinates[1:], strict=False):
            node = code.add(code.multiply(node, size), coordinate)
        self._row(node, before, self._children(level, after))

    def finish(self, count: Any, *, gaps: bool) -> None:
        """Writes what only the end of all loops tells.

        Args:
            count: the number of entries.
            gaps: whether rows without entries may have been left out.
        """
        result = self.result
        if result.depth == 0:
            self._ends(0, self._count(0, count))
        elif gaps:
            self._fill_gaps()
        for level in range(result.depth, result.rank):
            code.store(self._count(level, count), result.control, result.count_slot(level))

    def _append(self, level: int, coordinate: Any, after: Any) -> None:
        """Writes a coordinate of a compressed level that has got children."""
        cell = self.cells[level]
        count = code.load(cell, code.constant(0))
        self._node(level, count, coordinate, self._children(level, after))
        code.store(code.add(count, code.constant(1)), cell, code.constant(0))

    def _count(self, level: int, count: Any) -> Any:
        if level == self.last or self.result.appends_all:
            return count
        return code.load(self.cells[level], code.constant(0))

    def _children(self, level: int, count: Any) -> Any:
        """Returns the number of entries of the level below."""
        return self._count(level + 1, count)

    @abstractmethod
    def _row(self, node: Any, before: Any, children: Any) -> None: ...

    @abstractmethod
    def _node(self, level: int, count: Any, coordinate: Any, children: Any) -> None: ...

    @abstractmethod
    def _ends(self, level: int, children: Any) -> None: ...

    @abstractmethod
    def _fill_gaps(self) -> None: ...

    def _places(self, count: Any) -> list[tuple[Any, Any, int]]:
        """Returns the buffer, the place and the level of each coordinate stored with an entry."""
        result = self.result
        if result.interleaved:
            base = code.multiply(count, code.constant(result.rank))
            return [
                (result.coordinates[0], code.add(base, code.constant(level)), level) for level in range(result.rank)
            ]
        levels = range(result.rank) if result.appends_all else range(self.last, result.rank)
        return [(result.coordinates[level], count, level) for level in levels]


class Laying(Writer):
    """Lays a result out.

    Every buffer has a place more than there is room for. Entries beyond the room go
    there, all to the same place: they are counted, and nothing else is written over.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        # The first row begins where the caller says; those after it begin where others end.
        for level in range(max(1, result.depth), result.rank):
            if result.positions[level] is not None:
                begin = result.first if level == result.depth else code.constant(0)
                self._put(result.positions[level], begin, self._count(level, self.start))

    @property
    def inserts_in_order(self) -> bool:
        """Returns whether an entry is one coordinate and a value."""
        return not (self.result.appends_all or self.result.interleaved)

    def insert(self, count: Any, value: Any, coordinates: Sequence[Any], holds: Any | None = None) -> Any:
        """Writes an entry, if a condition holds; returns the number of entries after it.

        What is written without the condition lies beyond the entries: the next one is written over it.
        """
        place = code.minimum(count, self.result.room[self.last])
        for buffer, at, level in self._places(place):
            self._put(buffer, at, coordinates[level])
        code.store(value, self.result.values, place)
        one = code.constant(1) if holds is None else code.operation("arith.index_castui", code.index_type(), holds)
        return code.add(count, one)

    def compress(self, count: Any, touched: Any, coordinates: Sequence[Any]) -> Any:
        """Writes a row from the workspace; returns the number of entries after it."""
        workspace = Workspace(self.result.workspace)
        return workspace.drain(count, lambda k, value, last: self.insert(k, value, [*coordinates, last]))

    def _row(self, node: Any, before: Any, children: Any) -> None:
        self._put(self.result.positions[self.result.depth], code.add(node, code.constant(1)), children)

    def _node(self, level: int, count: Any, coordinate: Any, children: Any) -> None:
        place = code.minimum(count, self.result.room[level])
        self._put(self.result.coordinates[level], place, coordinate)
        self._put(self.result.positions[level + 1], code.add(place, code.constant(1)), children)

    def _ends(self, level: int, children: Any) -> None:
        self._put(
            self.result.positions[level],
            code.constant(0),
            code.load(self.result.control, self.result.count_slot(level)),
        )
        self._put(self.result.positions[level], code.constant(1), children)

    def _fill_gaps(self) -> None:
        """Gives rows that were left out, whose positions are 0, the end of the row before."""
        positions = self.result.positions[self.result.depth]
        rows = code.constant(1)
        for size in self.result.sizes[: self.result.depth]:
            rows = code.multiply(rows, size)

        def body(row: Any, running: Any) -> list[Any]:
            at = code.add(row, code.constant(1))
            largest = code.operation("arith.maxui", running.type, running, code.load(positions, at))
            code.store(largest, positions, at)
            return [largest]

        first = self.result.first
        code.loop(rows, [code.load(positions, first)], body, first)

    def _put(self, buffer: Any, at: Any, value: Any) -> None:
        code.store(code.cut(value, code.element_of(buffer)), buffer, at)


class Computing(Writer):
    """Computes values into a structure that is given.

    Entries go where the structure has them next. Where it has another coordinate, or
    another number of them, nothing is stored, and the control says so.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.flag = code.alloca_cell(code.constant(0))

    def insert(self, count: Any, value: Any, coordinates: Sequence[Any], holds: Any | None = None) -> Any:
        """Writes an entry, if a condition holds; returns the number of entries after it."""
        if holds is None:
            return self._insert(count, value, coordinates)
        kinds = [code.index_type()]
        return code.branch(holds, lambda: [self._insert(count, value, coordinates)], lambda: [count], kinds)[0]

    def _insert(self, count: Any, value: Any, coordinates: Sequence[Any]) -> Any:
        def inside() -> None:
            same = [
                code.compare("eq", self._get(buffer, at), coordinates[level])
                for buffer, at, level in self._places(count)
            ]
            code.branch(code.conjunction(same), lambda: code.store(value, self.result.values, count), self._miss)

        code.branch(code.compare("ult", count, self.result.room[self.last]), inside, self._miss)
        return code.add(count, code.constant(1))

    def compress(self, count: Any, touched: Any, coordinates: Sequence[Any]) -> Any:
        """Writes a row from the workspace; returns the number of entries after it."""
        result = self.result
        end = code.add(count, touched)
        # What lies beyond the structure stays in the workspace, which is not used again then.
        bound = code.minimum(end, result.room[self.last])
        workspace = Workspace(result.workspace)

        def body(place: Any) -> None:
            at = {level: self._get(buffer, where) for buffer, where, level in self._places(place)}
            above = [code.compare("eq", at[level], coordinates[level]) for level in at if level < self.last]
            found = code.conjunction([workspace.has(at[self.last]), *above])
            code.branch(found, lambda: code.store(workspace.take(at[self.last]), result.values, place), self._miss)

        code.loop(bound, [], body, count)
        self._expect(code.compare("eq", bound, end))
        return end

    def finish(self, count: Any, *, gaps: bool) -> None:
        """Writes what only the end of all loops tells."""
        super().finish(count, gaps=gaps)
        code.store(code.load(self.flag, code.constant(0)), self.result.control, self.result.flag_slot)

    def _row(self, node: Any, before: Any, children: Any) -> None:
        positions = self.result.positions[self.result.depth]
        last = self.result.depth == self.last
        ends = [(code.add(node, code.constant(1)), children), *([(node, before)] if last else [])]
        self._expect(code.conjunction([code.compare("eq", self._get(positions, at), end) for at, end in ends]))

    def _node(self, level: int, count: Any, coordinate: Any, children: Any) -> None:
        result = self.result

        def inside() -> None:
            here = code.compare("eq", self._get(result.coordinates[level], count), coordinate)
            ending = self._get(result.positions[level + 1], code.add(count, code.constant(1)))
            self._expect(code.conjunction([here, code.compare("eq", ending, children)]))

        code.branch(code.compare("ult", count, result.room[level]), inside, self._miss)

    def _ends(self, level: int, children: Any) -> None:
        self._expect(code.compare("eq", self._get(self.result.positions[level], code.constant(1)), children))

    def _fill_gaps(self) -> None:
        """Leaves rows without entries to the comparison of their neighbours."""

    def _expect(self, condition: Any) -> None:
        code.branch(condition, lambda: None, self._miss)

    def _miss(self) -> None:
        code.store(code.constant(1), self.flag, code.constant(0))

    def _get(self, buffer: Any, at: Any) -> Any:
        return code.widened(code.load(buffer, at))
