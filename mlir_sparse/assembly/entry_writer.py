"""How entries of a sparse result get into memory, and how the ends of rows do.

Two writers share the loops. One lays a result out: coordinates, positions and values
are stored as they come. The other has the structure given, stores values in their
order, and looks whether the loops come by the coordinates that it finds there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.assembly.result_arguments import Result
from mlir_sparse.assembly.row_workspace import Workspace
from mlir_sparse.loops import ir_words

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
        self.start = ir_words.load(result.control, result.count_slot(self.last))
        self.cells = {
            level: ir_words.alloca_cell(ir_words.load(result.control, result.count_slot(level)))
            for level in range(result.depth, self.last)
            if not result.appends_all
        }

    @property
    def inserts_in_order(self) -> bool:
        """Returns whether entries of a row may be inserted in their order, one by one, rather than appended."""
        return False

    @abstractmethod
    def insert(
        self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value], holds: ir.Value | None = None
    ) -> ir.Value:
        """Writes an entry, if a condition holds; returns the number of entries after it."""

    @abstractmethod
    def compress(self, count: ir.Value, touched: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        """Writes a row from the workspace; returns the number of entries after it."""

    def close(self, level: int, coordinates: Sequence[ir.Value], before: ir.Value, after: ir.Value) -> None:
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
            ir_words.branch(
                ir_words.compare("ne", before, after), lambda: self._append(level, coordinates[level], after)
            )
            return
        node = coordinates[0]
        for size, coordinate in zip(self.result.sizes[1:], coordinates[1:], strict=False):
            node = ir_words.add(ir_words.multiply(node, size), coordinate)
        self._row(node, before, self._children(level, after))

    def finish(self, count: ir.Value, *, gaps: bool) -> None:
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
            ir_words.store(self._count(level, count), result.control, result.count_slot(level))

    def _append(self, level: int, coordinate: ir.Value, after: ir.Value) -> None:
        """Writes a coordinate of a compressed level that has got children."""
        cell = self.cells[level]
        count = ir_words.load(cell, ir_words.constant(0))
        self._node(level, count, coordinate, self._children(level, after))
        ir_words.store(ir_words.add(count, ir_words.constant(1)), cell, ir_words.constant(0))

    def _count(self, level: int, count: ir.Value) -> ir.Value:
        if level == self.last or self.result.appends_all:
            return count
        return ir_words.load(self.cells[level], ir_words.constant(0))

    def _children(self, level: int, count: ir.Value) -> ir.Value:
        """Returns the number of entries of the level below."""
        return self._count(level + 1, count)

    @abstractmethod
    def _row(self, node: ir.Value, before: ir.Value, children: ir.Value) -> None: ...

    @abstractmethod
    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None: ...

    @abstractmethod
    def _ends(self, level: int, children: ir.Value) -> None: ...

    @abstractmethod
    def _fill_gaps(self) -> None: ...

    def _places(self, count: ir.Value) -> list[tuple[ir.Value, ir.Value, int]]:
        """Returns the buffer, the place and the level of each coordinate stored with an entry."""
        result = self.result
        if result.interleaved:
            base = ir_words.multiply(count, ir_words.constant(result.rank))
            return [
                (result.coordinates[0], ir_words.add(base, ir_words.constant(level)), level)
                for level in range(result.rank)
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
            if level in result.positions:
                begin = result.first if level == result.depth else ir_words.constant(0)
                self._put(result.positions[level], begin, self._count(level, self.start))

    @property
    def inserts_in_order(self) -> bool:
        """Returns whether an entry is one coordinate and a value."""
        return not (self.result.appends_all or self.result.interleaved)

    def insert(
        self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value], holds: ir.Value | None = None
    ) -> ir.Value:
        """Writes an entry, if a condition holds; returns the number of entries after it.

        What is written without the condition lies beyond the entries: the next one is written over it.
        """
        place = ir_words.minimum(count, self.result.room[self.last])
        for buffer, at, level in self._places(place):
            self._put(buffer, at, coordinates[level])
        ir_words.store(value, self.result.values, place)
        one = (
            ir_words.constant(1)
            if holds is None
            else ir_words.operation("arith.index_castui", ir_words.index_type(), holds)
        )
        return ir_words.add(count, one)

    def compress(self, count: ir.Value, touched: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        """Writes a row from the workspace; returns the number of entries after it."""
        workspace = Workspace(self.result.workspace)
        return workspace.drain(count, lambda k, value, last: self.insert(k, value, [*coordinates, last]))

    def _row(self, node: ir.Value, before: ir.Value, children: ir.Value) -> None:
        self._put(self.result.positions[self.result.depth], ir_words.add(node, ir_words.constant(1)), children)

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        place = ir_words.minimum(count, self.result.room[level])
        self._put(self.result.coordinates[level], place, coordinate)
        self._put(self.result.positions[level + 1], ir_words.add(place, ir_words.constant(1)), children)

    def _ends(self, level: int, children: ir.Value) -> None:
        self._put(
            self.result.positions[level],
            ir_words.constant(0),
            ir_words.load(self.result.control, self.result.count_slot(level)),
        )
        self._put(self.result.positions[level], ir_words.constant(1), children)

    def _fill_gaps(self) -> None:
        """Gives rows that were left out, whose positions are 0, the end of the row before."""
        positions = self.result.positions[self.result.depth]
        rows = ir_words.constant(1)
        for size in self.result.sizes[: self.result.depth]:
            rows = ir_words.multiply(rows, size)

        def body(row: ir.Value, running: ir.Value) -> list[ir.Value]:
            at = ir_words.add(row, ir_words.constant(1))
            largest = ir_words.operation("arith.maxui", running.type, running, ir_words.load(positions, at))
            ir_words.store(largest, positions, at)
            return [largest]

        first = self.result.first
        ir_words.loop(rows, [ir_words.load(positions, first)], body, first)

    def _put(self, buffer: ir.Value, at: ir.Value, value: ir.Value) -> None:
        ir_words.store(ir_words.cut(value, ir_words.element_of(buffer)), buffer, at)


class Computing(Writer):
    """Computes values into a structure that is given.

    Entries go where the structure has them next. Where it has another coordinate, or
    another number of them, nothing is stored, and the control says so.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.flag = ir_words.alloca_cell(ir_words.constant(0))

    def insert(
        self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value], holds: ir.Value | None = None
    ) -> ir.Value:
        """Writes an entry, if a condition holds; returns the number of entries after it."""
        if holds is None:
            return self._insert(count, value, coordinates)
        kinds = [ir_words.index_type()]
        return ir_words.branch(holds, lambda: [self._insert(count, value, coordinates)], lambda: [count], kinds)[0]

    def _insert(self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        def inside() -> None:
            same = [
                ir_words.compare("eq", self._get(buffer, at), coordinates[level])
                for buffer, at, level in self._places(count)
            ]
            ir_words.branch(
                ir_words.conjunction(same), lambda: ir_words.store(value, self.result.values, count), self._miss
            )

        ir_words.branch(ir_words.compare("ult", count, self.result.room[self.last]), inside, self._miss)
        return ir_words.add(count, ir_words.constant(1))

    def compress(self, count: ir.Value, touched: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        """Writes a row from the workspace; returns the number of entries after it."""
        result = self.result
        end = ir_words.add(count, touched)
        # What lies beyond the structure stays in the workspace, which is not used again then.
        bound = ir_words.minimum(end, result.room[self.last])
        workspace = Workspace(result.workspace)

        def body(place: ir.Value) -> None:
            at = {level: self._get(buffer, where) for buffer, where, level in self._places(place)}
            above = [ir_words.compare("eq", at[level], coordinates[level]) for level in at if level < self.last]
            found = ir_words.conjunction([workspace.has(at[self.last]), *above])
            ir_words.branch(
                found, lambda: ir_words.store(workspace.take(at[self.last]), result.values, place), self._miss
            )

        ir_words.loop(bound, [], body, count)
        self._expect(ir_words.compare("eq", bound, end))
        return end

    def finish(self, count: ir.Value, *, gaps: bool) -> None:
        """Writes what only the end of all loops tells."""
        super().finish(count, gaps=gaps)
        ir_words.store(ir_words.load(self.flag, ir_words.constant(0)), self.result.control, self.result.flag_slot)

    def _row(self, node: ir.Value, before: ir.Value, children: ir.Value) -> None:
        positions = self.result.positions[self.result.depth]
        last = self.result.depth == self.last
        ends = [(ir_words.add(node, ir_words.constant(1)), children), *([(node, before)] if last else [])]
        self._expect(ir_words.conjunction([ir_words.compare("eq", self._get(positions, at), end) for at, end in ends]))

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        result = self.result

        def inside() -> None:
            here = ir_words.compare("eq", self._get(result.coordinates[level], count), coordinate)
            ending = self._get(result.positions[level + 1], ir_words.add(count, ir_words.constant(1)))
            self._expect(ir_words.conjunction([here, ir_words.compare("eq", ending, children)]))

        ir_words.branch(ir_words.compare("ult", count, result.room[level]), inside, self._miss)

    def _ends(self, level: int, children: ir.Value) -> None:
        self._expect(ir_words.compare("eq", self._get(self.result.positions[level], ir_words.constant(1)), children))

    def _fill_gaps(self) -> None:
        """Leaves rows without entries to the comparison of their neighbours."""

    def _expect(self, condition: ir.Value) -> None:
        ir_words.branch(condition, lambda: None, self._miss)

    def _miss(self) -> None:
        ir_words.store(ir_words.constant(1), self.flag, ir_words.constant(0))

    def _get(self, buffer: ir.Value, at: ir.Value) -> ir.Value:
        return ir_words.widened(ir_words.load(buffer, at))
