"""Sparse results with a structure of their own, in two turns: entries are counted, and then stored.

No thread can append where others do. So the loops are written twice. The first time they count the entries of each
owner, such as a row; of the counts a scan makes where the entries of each owner begin. The second time each thread
stores from there on: coordinates, and values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import code
from mlir_sparse.pipeline.assembly.chain import Carrier, Chain, find_chain
from mlir_sparse.pipeline.assembly.sharing import finish
from mlir_sparse.pipeline.gpu.source import APART

__all__ = ["OWN", "SCANS", "count_and_fill"]

# What a function says of its result: how many loops have the entries of their turns one behind another.
OWN = "own"
# Of a function without a body: what it scans belongs to the loops of that name.
SCANS = "scans"


def count_and_fill(function: Any) -> None:
    """Puts three functions in place of one with a sparse result.

    The first counts the entries of each owner into its last argument; the second, of which only the arguments are
    there, is to scan: counts, sums of parts of them, and where the entries of each owner begin. The third stores
    entries: its last arguments are where those of each owner begin, coordinates, and values.

    Args:
        function: after sparsification; erased.

    Raises:
        ValueError: for a result that is not made by insertions in the order of its loops.
    """
    ir = bindings().ir
    name = ir.StringAttr(function.attributes["sym_name"]).value
    for part in (_Counts(), _Entries()):
        with ir.InsertionPoint(function):
            copy = function.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(f"{name}_{part.name}")
        depth = ir.IntegerAttr(copy.attributes[OWN]).value
        del copy.attributes[OWN]
        copy.attributes[APART] = ir.UnitAttr.get()
        chain = find_chain(copy)
        assert chain is not None
        if part.name == "count":
            with ir.InsertionPoint(function):
                _scanning(name, chain)
        _rewrite(copy, chain, part, depth)
    function.erase()


def _scanning(name: str, chain: Chain) -> None:
    """Writes what scans, as a function to be mapped."""
    ir, func = bindings().ir, bindings().module("dialects.func")
    counts = _memref(code.index_type())
    kinds = [counts, counts, _memref(_begins(chain))]
    op = func.FuncOp(f"{name}_scan", ir.FunctionType.get(kinds, []))
    op.attributes[SCANS] = ir.StringAttr.get(name)
    with ir.InsertionPoint(op.add_entry_block()):
        func.ReturnOp([])


def _memref(element: Any) -> Any:
    ir = bindings().ir
    return ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element)


def _encoding(chain: Chain) -> Any:
    ir = bindings().ir
    return bindings().module("dialects.sparse_tensor").EncodingAttr(ir.RankedTensorType(chain.start.type).encoding)


def _is_listed(chain: Chain) -> bool:
    """Returns whether entries have the coordinates of all levels, as pieces of one buffer."""
    formats = bindings().module("dialects.sparse_tensor").LevelFormat
    return bool(_encoding(chain).lvl_formats_enum[0] != formats.dense)


def _begins(chain: Chain) -> Any:
    """Returns the type of where the entries of an owner begin: its position, where the result has those."""
    width = 0 if _is_listed(chain) else _encoding(chain).pos_width
    return _integer(width)


def _integer(width: int) -> Any:
    return bindings().ir.IntegerType.get_signless(width) if width else code.index_type()


# -- what is done with entries -------------------------------------------------------------------------------------


class _Part(ABC):
    """What loops do with the entries that they come to."""

    name: str

    @abstractmethod
    def add_arguments(self, block: Any, chain: Chain) -> None:
        """Adds what is written, as arguments; at the insertion point what is to be done first."""

    @abstractmethod
    def begin(self, owner: Any) -> Any:
        """Returns what the number of an owner's first entry is."""

    @abstractmethod
    def insert(self, count: Any, value: Any, coordinates: Sequence[Any]) -> None:
        """Writes an entry."""

    @abstractmethod
    def end(self, owner: Any, count: Any) -> None:
        """Writes what is known after the last entry of an owner."""


class _Counts(_Part):
    """Counts the entries of each owner."""

    name = "count"

    def add_arguments(self, block: Any, chain: Chain) -> None:
        self._counts = block.add_argument(_memref(code.index_type()), bindings().ir.Location.unknown())
        # Loops may leave owners out that have nothing.
        nothing = code.constant(0)
        code.loop(code.size_of(self._counts), [], lambda at: code.store(nothing, self._counts, at))

    def begin(self, owner: Any) -> Any:
        return code.constant(0)

    def insert(self, count: Any, value: Any, coordinates: Sequence[Any]) -> None:
        pass

    def end(self, owner: Any, count: Any) -> None:
        code.store(count, self._counts, owner)


class _Entries(_Part):
    """Stores entries, those of an owner from where they begin."""

    name = "fill"

    def add_arguments(self, block: Any, chain: Chain) -> None:
        ir = bindings().ir
        encoding, element = _encoding(chain), ir.RankedTensorType(chain.start.type).element_type
        self._listed = _is_listed(chain)
        kinds = (_begins(chain), _integer(encoding.crd_width), element)
        arguments = [block.add_argument(_memref(kind), ir.Location.unknown()) for kind in kinds]
        self._begins, self._coordinates, self._values = arguments

    def begin(self, owner: Any) -> Any:
        return code.widened(code.load(self._begins, owner))

    def insert(self, count: Any, value: Any, coordinates: Sequence[Any]) -> None:
        kept = coordinates if self._listed else coordinates[-1:]
        first = code.multiply(count, code.constant(len(kept))) if self._listed else count
        for shift, coordinate in enumerate(kept):
            at = code.add(first, code.constant(shift)) if shift else first
            code.store(code.cut(coordinate, code.element_of(self._coordinates)), self._coordinates, at)
        code.store(value, self._values, count)

    def end(self, owner: Any, count: Any) -> None:
        pass


# -- the loops -----------------------------------------------------------------------------------------------------


def _rewrite(function: Any, chain: Chain, part: _Part, depth: int) -> None:
    ir = bindings().ir
    if chain.expands or chain.compresses or not chain.inserts:
        raise ValueError("expected insertions in the order of the loops")
    block = function.regions[0].blocks[0]
    start = chain.start.owner
    for op in chain.sizes:
        level = ir.IntegerAttr(op.operands[1].owner.attributes["value"]).value
        op.results[0].replace_all_uses_with(start.operands[level])
        op.erase()
    with ir.InsertionPoint(start):
        part.add_arguments(block, chain)
        nothing = code.constant(0)
    outer, coordinates = _owner(chain, depth)
    sizes = list(start.operands)[:depth]
    chain.start.replace_all_uses_with(nothing)
    for value in chain.values:
        if value != chain.start:
            value.set_type(code.index_type())
    for op in chain.inserts:
        with ir.InsertionPoint(op):
            value, count, *at = op.operands
            part.insert(count, value, at)
            after = code.add(count, code.constant(1))
        op.results[0].replace_all_uses_with(after)
        op.erase()
    _cut(outer[-1], coordinates, sizes, part)
    for carrier in outer:
        carrier.end.operands[carrier.place] = carrier.entry
    finish(function, chain, [])
    start.erase()


def _owner(chain: Chain, depth: int) -> tuple[list[Carrier], list[Any]]:
    """Returns the loops whose turns have entries one behind another, and the coordinates of a turn.

    Raises:
        ValueError: where there are several such loops, or a turn has several coordinates.
    """
    found = [(chain.around(op)[:depth], list(op.operands)[2 : 2 + depth]) for op in chain.inserts]
    loops, coordinates = found[0]
    same = all([c.op for c in other] == [c.op for c in loops] and at == coordinates for other, at in found)
    if len(loops) != depth or not same:
        raise ValueError("expected one loop with all entries of an owner, but got several")
    return loops, coordinates


def _cut(carrier: Carrier, coordinates: Sequence[Any], sizes: Sequence[Any], part: _Part) -> None:
    """Lets each turn of a loop begin with an owner's first entry, and end with its last."""
    ir = bindings().ir
    after = carrier.end.operands[carrier.place]
    with ir.InsertionPoint(_first_user(carrier)):
        begin = part.begin(_place(coordinates, sizes))
    carrier.entry.replace_all_uses_with(begin)
    last = begin if after == carrier.entry else after
    with ir.InsertionPoint(carrier.end):
        part.end(_place(coordinates, sizes), last)


def _place(coordinates: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """Returns the number of an owner."""
    place = coordinates[0]
    for coordinate, size in zip(coordinates[1:], sizes[1:], strict=True):
        place = code.add(code.multiply(place, size), coordinate)
    return place


def _first_user(carrier: Carrier) -> Any:
    """Returns the first operation of a loop's body that takes the result, or has one that does within."""
    users = []
    for use in carrier.entry.uses:
        op = use.owner.operation
        while op.parent.operation != carrier.op:
            op = op.parent.operation
        users.append(op)
    body = [op.operation for op in carrier.end.parent.regions[-1].blocks[0].operations]
    return next(op for op in body if op in users)
