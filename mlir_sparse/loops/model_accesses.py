"""What loops of sparsified code go through, read and write, as typed values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.effects import MemoryAccess, access_of
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.value_origins import base_and_offset, made_by, maker, stored_load

__all__ = [
    "Accumulate",
    "Compress",
    "Expand",
    "Gather",
    "Insert",
    "NamedRow",
    "Segment",
    "StreamAccess",
    "begins_by",
    "coordinate_load",
    "is_next",
    "position_load",
]


@dataclass(frozen=True, slots=True)
class Segment:
    """The entries of one parent: from where its number in a buffer of positions says up to where the next one does.

    Args:
        positions: the buffer.
        parent: the number.
    """

    positions: ir.Value
    parent: ir.Value

    @classmethod
    def of(cls, loop: ForLoop) -> Segment | None:
        """Returns what a loop goes through as a segment; None for any other."""
        begin, end = position_load(loop.lower), position_load(loop.upper)
        if begin is None or end is None or begin.buffer != end.buffer or not is_next(begin.at[0], end.at[0]):
            return None
        return cls(begin.buffer, begin.at[0])


def position_load(value: ir.Value) -> MemoryAccess | None:
    """Returns the load that a number is read by, widened or not, from a buffer of rank 1; None for any other value."""
    op = stored_load(value)
    access = None if op is None else access_of(op)
    return access if access is not None and len(access.at) == 1 else None


def is_next(value: ir.Value, following: ir.Value) -> bool:
    """Returns whether a number is another one plus 1."""
    return base_and_offset(following) == (value, 1)


def coordinate_load(value: ir.Value) -> MemoryAccess | None:
    """Returns the load that a coordinate is read by, at the index of a loop or a constant beyond; None for others."""
    load = position_load(value)
    return load if load is not None and ForLoop.of_index(base_and_offset(load.at[0])[0]) is not None else None


def begins_by(loop: ForLoop, index: ir.Value) -> tuple[ir.Value, ...] | None:
    """Returns the buffers that say where a loop begins for an index, and where it ends, as it begins for the next one.

    Args:
        loop: a loop over entries.
        index: the index of a loop around it.

    Returns:
        buffers of positions, each of which holds a subscript of the next one; None where a loop runs otherwise.
    """
    return _positions(loop.lower, loop.upper, index)


def _positions(begin: ir.Value, end: ir.Value, index: ir.Value) -> tuple[ir.Value, ...] | None:
    first, second = position_load(begin), position_load(end)
    if first is None or second is None or first.buffer != second.buffer:
        return None
    (at,), (after,) = first.at, second.at
    if at == index:
        return (first.buffer,) if is_next(at, after) else None
    outer = _positions(at, after, index)
    return None if outer is None else (*outer, first.buffer)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A loop over the stored row that a stored coordinate names: that of B for an entry of A in `A(i,k) * B(k,j)`.

    Args:
        loop: the loop.
        begin: the load of the position where the row begins.
        coordinate: the load of the coordinate.
    """

    loop: ForLoop
    begin: MemoryAccess
    coordinate: MemoryAccess

    @classmethod
    def of(cls, loop: ForLoop) -> NamedRow | None:
        """Returns a loop over a row that a coordinate names; None for any other."""
        begin = position_load(loop.lower)
        coordinate = None if begin is None else coordinate_load(begin.at[0])
        # What says where the entries of all rows begin are positions of positions: no coordinate names them.
        return None if begin is None or coordinate is None or loop.is_whole else cls(loop, begin, coordinate)

    @property
    def is_of_entry(self) -> bool:
        """Returns whether the coordinate is that of an entry of the loop right around."""
        around = loop_of(self.loop.around)
        return isinstance(around, ForLoop) and self.coordinate.at == (around.index,)


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """A buffer of which each iteration of a loop reads, or writes, the element at the loop's index.

    Args:
        access: the load or the store.
    """

    access: MemoryAccess

    @classmethod
    def of(cls, op: ir.Operation, loop: ForLoop) -> StreamAccess | None:
        """Returns an operation in a loop as one on a stream; None for any other."""
        access = access_of(op)
        return cls(access) if access is not None and access.at == (loop.index,) else None

    @classmethod
    def all_of(cls, loop: ForLoop) -> Iterator[StreamAccess]:
        """Yields the streams of a loop's own body."""
        for op in loop.body:
            stream = cls.of(op, loop)
            if stream is not None:
                yield stream


@dataclass(frozen=True, slots=True)
class Gather:
    """An element where a stored coordinate says.

    Args:
        access: the load or the store of the element.
        coordinate: the load of the coordinate.
    """

    access: MemoryAccess
    coordinate: MemoryAccess

    @classmethod
    def of(cls, op: ir.Operation) -> Gather | None:
        """Returns an access to a buffer of rank 1 as a gather; None for any other operation."""
        access = access_of(op)
        if access is None or len(access.at) != 1:
            return None
        coordinate = position_load(access.at[0])
        return None if coordinate is None else cls(access, coordinate)


@dataclass(frozen=True, slots=True)
class Accumulate:
    """An element that is read, added to and stored.

    Args:
        load: the load of it.
        store: the store to the same address.
    """

    load: MemoryAccess
    store: MemoryAccess

    @classmethod
    def of(cls, store: MemoryAccess, accesses: Sequence[MemoryAccess]) -> Accumulate | None:
        """Returns a store with the one load of its address among accesses; None where there is none, or several."""
        loads = [access for access in accesses if access.value is None and access.address == store.address]
        return cls(loads[0], store) if len(loads) == 1 else None


@dataclass(frozen=True, slots=True)
class Insert:
    """A `tensor.insert` into a sparse result.

    Args:
        op: the operation.
    """

    op: ir.Operation

    @property
    def value(self) -> ir.Value:
        """Returns the value of the entry."""
        return self.op.operands[0]

    @property
    def tensor(self) -> ir.Value:
        """Returns the tensor before it."""
        return self.op.operands[1]

    @property
    def coordinates(self) -> Sequence[ir.Value]:
        """Returns where the entry is."""
        return list(self.op.operands)[2:]

    @classmethod
    def of(cls, value: ir.Value) -> Insert | None:
        """Returns what made a tensor as an insertion; None for any other value."""
        op = maker(value)
        return cls(op) if op is not None and op.name == "tensor.insert" else None


@dataclass(frozen=True, slots=True)
class Expand:
    """A `sparse_tensor.expand`: a workspace for a row of a sparse result."""

    op: ir.Operation

    @property
    def values(self) -> ir.Value:
        """Returns the buffer of values."""
        return self.op.results[0]

    @property
    def filled(self) -> ir.Value:
        """Returns the buffer of flags: which coordinates have an entry."""
        return self.op.results[1]

    @property
    def added(self) -> ir.Value:
        """Returns the buffer of coordinates that got an entry."""
        return self.op.results[2]

    @property
    def count(self) -> ir.Value:
        """Returns the number of those at first."""
        return self.op.results[3]

    @classmethod
    def of(cls, value: ir.Value) -> Expand | None:
        """Returns what made a part of a workspace as that; None for any other value."""
        op = made_by(value, "sparse_tensor.expand")
        return None if op is None else cls(op)


@dataclass(frozen=True, slots=True)
class Compress:
    """A `sparse_tensor.compress`: a row of a sparse result from its workspace."""

    op: ir.Operation

    @property
    def workspace(self) -> Expand | None:
        """Returns the workspace."""
        return Expand.of(self.op.operands[0])

    @property
    def count(self) -> ir.Value:
        """Returns how many coordinates got an entry."""
        return self.op.operands[3]

    @property
    def tensor(self) -> ir.Value:
        """Returns the tensor before it."""
        return self.op.operands[4]

    @property
    def coordinates(self) -> Sequence[ir.Value]:
        """Returns which row it is."""
        return list(self.op.operands)[5:]

    def set_count(self, value: ir.Value) -> None:
        """Says otherwise how many coordinates got an entry."""
        self.op.operands[3] = value
