"""A call of a compiled loop nest as data: all that it takes but the address of the function."""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.cuts import Cut
from mlir_sparse.program.entry_bounds import EntryBounds
from mlir_sparse.program.places import IndexSum

__all__ = ["Argument", "NestCall"]


@dataclass(frozen=True, slots=True)
class Argument:
    """What one argument of a function must be.

    Args:
        dtype: its element type.
        encoding: its storage; None for an array.
        subscripts: that of each dimension.
    """

    dtype: DType
    encoding: Encoding | None
    subscripts: tuple[IndexSum, ...]


@dataclass(frozen=True, slots=True)
class NestCall:
    """A call of the function that a loop nest became.

    Args:
        function: the name of the function.
        loops: the index variable of each loop, outermost first; one more where the result is along entries.
        arguments: its arguments, a dense result the last.
        operands: the names of the values it reads.
        axes: for each operand the index variable of each axis, None where the subscript is no plain variable.
        frames: (variable, tensor, dim) of each variable that runs beyond the edges of a tensor in level space.
        result: the name of the value it computes.
        variables: the index variable of each axis of the result.
        dtype: the result's element type.
        encoding: the result's storage; None for a dense array.
        continues: whether it adds to what the result holds.
        gathers: whether rows of a sparse result are gathered in a workspace.
        scatters: whether a row of an operand is scattered.
        entries: the bounds on the entries of a sparse result, by those of the operands and the extents of variables.
        cut: how the call is cut in pieces; None where it stays whole.
        sampled: which operand it is at whose entries the result, a vector, has its elements; None for any other result.
    """

    function: str
    loops: tuple[str, ...]
    arguments: tuple[Argument, ...]
    operands: tuple[str, ...]
    axes: tuple[tuple[str | None, ...], ...]
    frames: tuple[tuple[str, str, int], ...]
    result: str
    variables: tuple[str, ...]
    dtype: DType
    encoding: Encoding | None
    continues: bool
    gathers: bool
    scatters: bool
    entries: EntryBounds
    cut: Cut | None = None
    sampled: int | None = None
