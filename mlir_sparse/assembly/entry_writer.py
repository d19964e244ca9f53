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
from mlir_sparse.loops import build_operations as build

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
        self.start = build.load(result.control, result.count_slot(self.last))
        self.cells = {
            level: build.alloca_cell(build.load(result.control, result.count_slot(level)))
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
            build.branch(build.compare("ne", before, after), lambda: self._append(level, coordinates[level], after))
            return
        node = coordinates[0]
        for size, coordinate in zip(self.result.sizes[1:], coordinates[1:], strict=False):
            node = build.add(build.multiply(node, size), coordinate)
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
            build.store(self._count(level, count), result.control, result.count_slot(level))

    def _append(self, level: int, coordinate: ir.Value, after: ir.Value) -> None:
        """Writes a coordinate of a compressed level that has got children."""
        cell = self.cells[level]
        count = build.load(cell, build.constant(0))
        self._node(level, count, coordinate, self._children(level, after))
        build.store(build.add(count, build.constant(1)), cell, build.constant(0))

    def _count(self, level: int, count: ir.Value) -> ir.Value:
        if level == self.last or self.result.appends_all:
            return count
        return build.load(self.cells[level], build.constant(0))

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
            base = build.multiply(count, build.constant(result.rank))
            return [
                (result.coordinates[0], build.add(base, build.constant(level)), level) for level in range(result.rank)
            ]
        levels = range(result.rank) if result.appends_all else range(self.last, result.rank)
        return [(result.coordinates[level], count, level) for level in levels]


class Laying(Writer):
    """Lays a result out.

    Every buffer has a place more than its capacity. Entries beyond the capacity go
    there, all to the same place: they are counted, and nothing else is written over.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        # The first row begins where the caller says; those after it begin where others end.
        for level in range(max(1, result.depth), result.rank):
            if level in result.positions:
                begin = result.first if level == result.depth else build.constant(0)
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
        place = build.minimum(count, self.result.capacity[self.last])
        for buffer, at, level in self._places(place):
            self._put(buffer, at, coordinates[level])
        build.store(value, self.result.values, place)
        one = build.constant(1) if holds is None else build.operation("arith.index_castui", build.index_type(), holds)
        return build.add(count, one)

    def compress(self, count: ir.Value, touched: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        """Writes a row from the workspace; returns the number of entries after it."""
        workspace = Workspace(self.result.workspace)
        return workspace.drain(count, lambda k, value, last: self.insert(k, value, [*coordinates, last]))

    def _row(self, node: ir.Value, before: ir.Value, children: ir.Value) -> None:
        self._put(self.result.positions[self.result.depth], build.add(node, build.constant(1)), children)

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        place = build.minimum(count, self.result.capacity[level])
        self._put(self.result.coordinates[level], place, coordinate)
        self._put(self.result.positions[level + 1], build.add(place, build.constant(1)), children)

    def _ends(self, level: int, children: ir.Value) -> None:
        self._put(
            self.result.positions[level],
            build.constant(0),
            build.load(self.result.control, self.result.count_slot(level)),
        )
        self._put(self.result.positions[level], build.constant(1), children)

    def _fill_gaps(self) -> None:
        """Gives rows that were left out, whose positions are 0, the end of the row before."""
        positions = self.result.positions[self.result.depth]
        rows = build.constant(1)
        for size in self.result.sizes[: self.result.depth]:
            rows = build.multiply(rows, size)

        def body(row: ir.Value, running: ir.Value) -> list[ir.Value]:
            at = build.add(row, build.constant(1))
            largest = build.operation("arith.maxui", running.type, running, build.load(positions, at))
            build.store(largest, positions, at)
            return [largest]

        first = self.result.first
        build.loop(rows, [build.load(positions, first)], body, first)

    def _put(self, buffer: ir.Value, at: ir.Value, value: ir.Value) -> None:
        build.store(build.cut(value, build.element_of(buffer)), buffer, at)


class Computing(Writer):
    """Computes values into a structure that is given.

    Entries go where the structure has them next. Where it has another coordinate, or
    another number of them, nothing is stored, and the control says so.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.flag = build.alloca_cell(build.constant(0))

    def insert(
        self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value], holds: ir.Value | None = None
    ) -> ir.Value:
        """Writes an entry, if a condition holds; returns the number of entries after it."""
        if holds is None:
            return self._insert(count, value, coordinates)
        kinds = [build.index_type()]
        return build.branch(holds, lambda: [self._insert(count, value, coordinates)], lambda: [count], kinds)[0]

    def _insert(self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        def inside() -> None:
            same = [
                build.compare("eq", self._get(buffer, at), coordinates[level])
                for buffer, at, level in self._places(count)
            ]
            build.branch(build.conjunction(same), lambda: build.store(value, self.result.values, count), self._miss)

        build.branch(build.compare("ult", count, self.result.capacity[self.last]), inside, self._miss)
        return build.add(count, build.constant(1))

    def compress(self, count: ir.Value, touched: ir.Value, coordinates: Sequence[ir.Value]) -> ir.Value:
        """Writes a row from the workspace; returns the number of entries after it."""
        result = self.result
        end = build.add(count, touched)
        # What lies beyond the structure stays in the workspace, which is not used again then.
        bound = build.minimum(end, result.capacity[self.last])
        workspace = Workspace(result.workspace)

        def body(place: ir.Value) -> None:
            at = {level: self._get(buffer, where) for buffer, where, level in self._places(place)}
            above = [build.compare("eq", at[level], coordinates[level]) for level in at if level < self.last]
            found = build.conjunction([workspace.has(at[self.last]), *above])
            build.branch(found, lambda: build.store(workspace.take(at[self.last]), result.values, place), self._miss)

        build.loop(bound, [], body, count)
        self._expect(build.compare("eq", bound, end))
        return end

    def finish(self, count: ir.Value, *, gaps: bool) -> None:
        """Writes what only the end of all loops tells."""
        super().finish(count, gaps=gaps)
        build.store(build.load(self.flag, build.constant(0)), self.result.control, self.result.flag_slot)

    def _row(self, node: ir.Value, before: ir.Value, children: ir.Value) -> None:
        positions = self.result.positions[self.result.depth]
        last = self.result.depth == self.last
        ends = [(build.add(node, build.constant(1)), children), *([(node, before)] if last else [])]
        self._expect(build.conjunction([build.compare("eq", self._get(positions, at), end) for at, end in ends]))

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        result = self.result

        def inside() -> None:
            here = build.compare("eq", self._get(result.coordinates[level], count), coordinate)
            ending = self._get(result.positions[level + 1], build.add(count, build.constant(1)))
            self._expect(build.conjunction([here, build.compare("eq", ending, children)]))

        build.branch(build.compare("ult", count, result.capacity[level]), inside, self._miss)

    def _ends(self, level: int, children: ir.Value) -> None:
        self._expect(build.compare("eq", self._get(self.result.positions[level], build.constant(1)), children))

    def _fill_gaps(self) -> None:
        """Leaves rows without entries to the comparison of their neighbours."""

    def _expect(self, condition: ir.Value) -> None:
        build.branch(condition, lambda: None, self._miss)

    def _miss(self) -> None:
        build.store(build.constant(1), self.flag, build.constant(0))

    def _get(self, buffer: ir.Value, at: ir.Value) -> ir.Value:
        return build.widened(build.load(buffer, at))
