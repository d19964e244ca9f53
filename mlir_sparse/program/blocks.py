"""Steps that run for some rows at a time, so that what they make stays in the cache."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType

__all__ = ["BlockArray", "Blocks"]


@dataclass(frozen=True, slots=True)
class BlockArray:
    """An array of which a block of steps makes and reads some rows.

    Args:
        name: the name of the value.
        variables: the index variable of each axis; the first numbers rows.
        dtype: the element type.
    """

    name: str
    variables: tuple[str, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Blocks:
    """The last steps of a program, which may run for some rows of their arrays at a time.

    Args:
        first: the number of the first of these steps.
        rows: of each of them the index variable that numbers rows.
        cut: the names of the operands of which a block reads some rows; it reads all of the others.
        arrays: what the steps make for one another.
        adds: whether the result is the sum of those of blocks, rather than their rows one after the other.
    """

    first: int
    rows: tuple[str, ...]
    cut: tuple[str, ...]
    arrays: tuple[BlockArray, ...]
    adds: bool
