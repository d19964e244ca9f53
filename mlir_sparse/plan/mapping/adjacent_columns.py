"""When a thread can take adjacent columns by one access to memory: what must hold for arrays to be read so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.notation import IndexVar, accesses_of
from mlir_sparse.program.size_values import Address, Extent, Whole

if TYPE_CHECKING:
    from mlir_sparse.plan.mapping.nest_to_map import NestToMap

__all__ = ["most_adjacent", "needs_of"]

# The most bytes that an instruction reads or writes of a thread.
_MOST_BYTES = 16


def most_adjacent(nest: NestToMap, column: IndexVar, tile: int) -> int:
    """Returns how many adjacent columns, of those that a thread takes, an access can have; 1 where only one.

    All arrays with the column need it as their last axis, and there alone: its elements then follow each other.
    """
    accesses = (*accesses_of(nest.step.payload), nest.step.target)
    arrays = [one for one in accesses if column in one.indices]
    kinds = [nest.types[one.tensor] for one in arrays]
    ends = all(one.subscripts[-1] == column and column not in one.subscripts[:-1] for one in arrays)
    plain = all(isinstance(subscript, IndexVar) for one in arrays for subscript in one.subscripts)
    known = all(kind.encoding is None and not kind.dtype.is_complex for kind in kinds)
    if not (ends and plain and known) or nest.step.frames or nest.searches:
        return 1
    return min(tile, *(_MOST_BYTES // kind.dtype.itemsize for kind in kinds))


def needs_of(nest: NestToMap, column: IndexVar, adjacent: int) -> tuple[Whole, ...]:
    """Returns what must hold for all arrays with a column to be read and written by so many adjacent ones."""
    accesses = (*accesses_of(nest.step.payload), nest.step.target)
    names = dict.fromkeys(one.tensor for one in accesses if column in one.indices)
    starts = [Whole(Address(name), adjacent * nest.types[name].dtype.itemsize) for name in names]
    return (Whole(Extent(column.name), adjacent), *starts)
