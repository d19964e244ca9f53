"""Sparse results with a structure of their own, in two phases: entries are counted, and then stored.

No thread can append where others do. So the loops are written twice. The first time they count the entries of each
owner, such as a row; of the counts a scan makes where the entries of each owner begin. The second time each thread
stores from there on: coordinates, and values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.assembly.assemble import loops_to_close
from mlir_sparse.assembly.result_arguments import ResultLevels, result_levels
from mlir_sparse.assembly.result_chain import Carrier, Chain, end_function, find_chain
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.loops import build_operations as build
from mlir_sparse.loops.emit_copies import replace as replace_operation
from mlir_sparse.loops.facts_in_ir import write_facts
from mlir_sparse.loops.regions import blocks_of, operations_of
from mlir_sparse.loops.value_origins import parent_of, result_maker
from mlir_sparse.program.nest_facts import NestFacts, ThreadedNest, TwoPhaseResult

__all__ = ["count_and_fill"]


def count_and_fill(function: ir.Operation, nest: ThreadedNest, own: TwoPhaseResult) -> None:
    """Puts three functions in place of one with a sparse result.

    The first counts the entries of each owner into its last arguments, one for each compressed level; the second, of
    which only the arguments are there, is to scan: counts, sums of parts of them, and where the entries of each owner
    begin. The third stores entries: its last arguments are where those of each owner begin, by levels, then positions
    but the first, coordinates, and values.

    Args:
        function: after sparsification; erased.
        nest: what the plan knows of it.
        own: and of its result.

    Raises:
        UnmappedError: for a result that is not made by insertions in the order of its loops.
    """
    name = ir.StringAttr(function.attributes["sym_name"]).value
    for kind, written in ((_Counts, own.counted), (_Entries, own.filled)):
        with ir.InsertionPoint(function):
            copy = function.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(f"{name}_{kind.name}")
        known = replace(nest, arguments=(*nest.arguments, *written), two_phase=None, apart=True)
        write_facts(copy, NestFacts(threads=known))
        chain = find_chain(copy)
        assert chain is not None
        if kind is _Counts:
            with ir.InsertionPoint(function):
                _scanning(name, chain, ThreadedNest((), "sum", own.scanned, scans=name))
        _rewrite(copy, chain, kind(chain), own.owners)
    function.erase()


def _scanning(name: str, chain: Chain, nest: ThreadedNest) -> None:
    """Writes what scans, as a function to be mapped."""
    func = bindings().module("dialects.func")
    counts = _memref(build.index_type())
    kinds = [counts, counts, _memref(_levels(chain).position)]
    op = func.FuncOp(f"{name}_scan", ir.FunctionType.get(kinds, []))
    write_facts(op.operation, NestFacts(threads=nest))
    with ir.InsertionPoint(op.add_entry_block()):
        func.ReturnOp([])


def _memref(element: ir.Type) -> ir.Type:
    return ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)


def _levels(chain: Chain) -> ResultLevels:
    return result_levels(ir.RankedTensorType(chain.start.type))


# -- what is done with entries -------------------------------------------------------------------------------------


class _Part(ABC):
    """What loops do with the entries that they come to.

    Args:
        chain: the result.

    The number of entries of the last level is passed from loop to loop where the sparsifier passed the tensor; that
    of each compressed level above it is in a cell, which LLVM keeps in a register.
    """

    name: str

    def __init__(self, chain: Chain) -> None:
        formats = _levels(chain).formats
        # Whether entries have the coordinates of all levels, as pieces of one buffer.
        self.listed = formats[-1] == "singleton"
        self.rank = len(formats)
        depth = next(at for at, name in enumerate(formats) if name != "dense")
        # The compressed levels; of a list there is but one count.
        self.levels = range(self.rank - 1 if self.listed else depth, self.rank)
        self._cells: dict[int, ir.Value] = {}

    def start(self, block: ir.Block, chain: Chain) -> None:
        """Adds what is written, as arguments, and writes what is to be done first."""
        self._add_arguments(block, chain)
        self._cells = {level: build.alloca(build.index_type()) for level in self.levels[:-1]}

    @abstractmethod
    def _add_arguments(self, block: ir.Block, chain: Chain) -> None: ...

    @abstractmethod
    def _begin(self, level: int, owner: ir.Value) -> ir.Value: ...

    @abstractmethod
    def insert(self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value]) -> None:
        """Writes an entry."""

    @abstractmethod
    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None: ...

    @abstractmethod
    def end(self, owner: ir.Value, count: ir.Value) -> None:
        """Writes what is known after the last entry of an owner."""

    def begin(self, owner: ir.Value) -> ir.Value:
        """Returns what the number of an owner's first entry is."""
        for level, cell in self._cells.items():
            build.store(self._begin(level, owner), cell, build.constant(0))
        return self._begin(self.rank - 1, owner)

    def close(self, level: int, coordinate: ir.Value, before: ir.Value, after: ir.Value) -> None:
        """Writes a coordinate of a compressed level above the last, where it has got entries."""

        def append() -> None:
            count = self._count(level, after)
            self._node(level, count, coordinate, self._count(level + 1, after))
            build.store(build.add(count, build.constant(1)), self._cells[level], build.constant(0))

        build.branch(build.compare("ne", before, after), append)

    def _count(self, level: int, last: ir.Value) -> ir.Value:
        """Returns the number of entries of a level, given that of the last."""
        return last if level == self.rank - 1 else build.load(self._cells[level], build.constant(0))


class _Counts(_Part):
    """Counts the entries of each owner."""

    name = "count"

    def _add_arguments(self, block: ir.Block, chain: Chain) -> None:
        kind, where = _memref(build.index_type()), ir.Location.unknown()
        self._counts = {level: block.add_argument(kind, where) for level in self.levels}
        # Loops may leave owners out that have nothing.
        nothing, size = build.constant(0), build.size_of(self._counts[self.levels[0]])
        build.loop(size, [], lambda at: self._put(at, dict.fromkeys(self.levels, nothing)))

    def _put(self, owner: ir.Value, counts: Mapping[int, ir.Value]) -> None:
        for level, count in counts.items():
            build.store(count, self._counts[level], owner)

    def _begin(self, level: int, owner: ir.Value) -> ir.Value:
        return build.constant(0)

    def insert(self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value]) -> None:
        pass

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        pass

    def end(self, owner: ir.Value, count: ir.Value) -> None:
        self._put(owner, {level: self._count(level, count) for level in self.levels})


class _Entries(_Part):
    """Stores entries, those of an owner from where they begin."""

    name = "fill"

    def _add_arguments(self, block: ir.Block, chain: Chain) -> None:
        levels, element = _levels(chain), ir.RankedTensorType(chain.start.type).element_type

        def argument(kind: ir.Type) -> ir.Value:
            return block.add_argument(_memref(kind), ir.Location.unknown())

        self._begins = {level: argument(levels.position) for level in self.levels}
        self._positions, self._coordinates = {}, {}
        for level in self.levels:
            if level != self.levels[0]:
                self._positions[level] = argument(levels.position)
            self._coordinates[level] = argument(levels.coordinate)
        self._values = argument(element)

    def _begin(self, level: int, owner: ir.Value) -> ir.Value:
        return build.widened(build.load(self._begins[level], owner))

    def insert(self, count: ir.Value, value: ir.Value, coordinates: Sequence[ir.Value]) -> None:
        buffer = self._coordinates[self.rank - 1]
        kept = coordinates if self.listed else coordinates[-1:]
        first = build.multiply(count, build.constant(len(kept))) if self.listed else count
        for shift, coordinate in enumerate(kept):
            _store(coordinate, buffer, build.add(first, build.constant(shift)) if shift else first)
        build.store(value, self._values, count)

    def _node(self, level: int, count: ir.Value, coordinate: ir.Value, children: ir.Value) -> None:
        _store(coordinate, self._coordinates[level], count)
        _store(children, self._positions[level + 1], build.add(count, build.constant(1)))

    def end(self, owner: ir.Value, count: ir.Value) -> None:
        pass


def _store(value: ir.Value, buffer: ir.Value, at: ir.Value) -> None:
    build.store(build.cut(value, build.element_of(buffer)), buffer, at)


# -- the loops -----------------------------------------------------------------------------------------------------


def _rewrite(function: ir.Operation, chain: Chain, part: _Part, depth: int) -> None:
    if chain.expands or chain.compresses or not chain.inserts:
        raise UnmappedError("expected insertions in the order of the loops")
    (block,) = blocks_of(function)
    start = result_maker(chain.start)
    chain.replace_sizes(list(start.operands))
    with ir.InsertionPoint(start):
        part.start(block, chain)
        nothing = build.constant(0)
    outer, coordinates = _owner(chain, depth)
    closes = [] if part.listed else [one for one in loops_to_close(chain) if one[0] in part.levels]
    sizes = list(start.operands)[:depth]
    chain.start.replace_all_uses_with(nothing)
    for value in chain.values:
        if value != chain.start:
            value.set_type(build.index_type())
    for insert in chain.inserts:
        with ir.InsertionPoint(insert.op):
            part.insert(insert.tensor, insert.value, insert.coordinates)
            replace_operation(insert.op, [build.add(insert.tensor, build.constant(1))])
    begin = _begin(outer[-1], coordinates, sizes, part)
    for level, carrier, here in closes:
        with ir.InsertionPoint(carrier.loop.end):
            before = begin if carrier.loop == outer[-1].loop else carrier.entry
            part.close(level, here[-1], before, carrier.exit)
    with ir.InsertionPoint(outer[-1].loop.end):
        part.end(_place(coordinates, sizes), outer[-1].exit)
    for carrier in outer:
        carrier.loop.set_end(carrier.number, carrier.entry)
    end_function(function, chain)
    start.erase()


def _owner(chain: Chain, depth: int) -> tuple[list[Carrier], list[ir.Value]]:
    """Returns the loops whose iterations have entries one behind another, and the coordinates of an iteration.

    Raises:
        UnmappedError: where there are several such loops, or an iteration has several coordinates.
    """
    found = [(chain.around(insert.op)[:depth], list(insert.coordinates)[:depth]) for insert in chain.inserts]
    loops, coordinates = found[0]
    same = all([c.loop for c in other] == [c.loop for c in loops] and at == coordinates for other, at in found)
    if len(loops) != depth or not same:
        raise UnmappedError("expected one loop with all entries of an owner, but got several")
    return loops, coordinates


def _begin(carrier: Carrier, coordinates: Sequence[ir.Value], sizes: Sequence[ir.Value], part: _Part) -> ir.Value:
    """Lets each iteration of a loop begin with an owner's first entry; returns its number."""
    with ir.InsertionPoint(_first_user(carrier)):
        begin = part.begin(_place(coordinates, sizes))
    carrier.entry.replace_all_uses_with(begin)
    return begin


def _place(coordinates: Sequence[ir.Value], sizes: Sequence[ir.Value]) -> ir.Value:
    """Returns the number of an owner."""
    place = coordinates[0]
    for coordinate, size in zip(coordinates[1:], sizes[1:], strict=True):
        place = build.add(build.multiply(place, size), coordinate)
    return place


def _first_user(carrier: Carrier) -> ir.Operation:
    """Returns the first operation of a loop's body that takes the result, or has one that does within."""
    users = []
    for use in carrier.entry.uses:
        op = use.owner.operation
        while parent_of(op) != carrier.loop.op:
            op = parent_of(op)
        users.append(op)
    return next(op for op in operations_of(carrier.loop.block) if op in users)
