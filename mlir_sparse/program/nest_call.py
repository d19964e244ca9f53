"""A call of a compiled loop nest as data: everything except the function's address."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.program.cuts import Cut
from mlir_sparse.program.entry_bounds import EntryBounds
from mlir_sparse.program.subscript_data import IndexSum

__all__ = ["Argument", "NestCall"]


@dataclass(frozen=True, slots=True)
class Argument:
    """The required type of one argument; `encoding` is None for an array."""

    dtype: DType
    encoding: Encoding | None
    subscripts: tuple[IndexSum, ...]


@dataclass(frozen=True, slots=True)
class NestCall:
    """A call of the compiled function of a loop nest.

    Args:
        function: the name of the function.
        loops: the index variable of each loop, outermost first; one more if the result is a vector along entries.
        arguments: its arguments, a dense result the last.
        operands: the names of the values that it reads.
        axes: for each operand the index variable of each axis; None for a subscript that is no plain variable.
        frames: (variable, tensor, dim) for each variable that exceeds the bounds of a tensor in level space.
        result: the name of the value that it computes.
        variables: the index variable of each axis of the result.
        dtype: the result's element type.
        encoding: the result's encoding; None for a dense array.
        continues: whether it accumulates into the result's present values.
        gathers: whether rows of a sparse result are gathered in a workspace.
        scatters: whether a row of an operand is scattered.
        entries: the bounds on the number of entries of a sparse result.
        cut: how the call is cut into chunks; None if it runs whole.
        sampled: the number of the operand for whose entries the result, a vector, has an element each; None for other
            results.
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
