"""Native packing within the memory that is available."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse import _native
from mlir_sparse.process.available_memory import available_bytes, plenty
from mlir_sparse.tensor.level_storage import Array

__all__ = ["pack_in_memory"]

_Packed = tuple[list[Array | None], list[Array | None], Array]
# Entries of fewer bytes are packed again after a fault: to ask the system takes as long as to pack a few.
_SMALL = 1 << 20


def pack_in_memory(
    levels: Sequence[tuple[int, bool, bool, bool, int, int]],
    columns: Sequence[Array],
    values: Array,
    dtype: str,
    widths: tuple[int, int],
    keep_duplicates: bool = False,
) -> _Packed:
    """Returns positions, coordinates and values of the levels.

    Args:
        levels: the levels as `level_tuples` gives them.
        columns: the coordinates of each level.
        values: the entries' values.
        dtype: the name of their element type.
        widths: the bits of positions and of coordinates.
        keep_duplicates: whether entries of equal coordinates stay apart.

    Raises:
        LevelFault: for entries that the levels cannot hold, and levels that do not fit in memory.
    """
    if sum(array.nbytes for array in (*columns, values)) <= _SMALL:
        try:
            return _native.pack(levels, columns, values, dtype, *widths, keep_duplicates, plenty())
        except _native.LevelFault as fault:
            if fault.args[0] != "memory":
                raise
    return _native.pack(levels, columns, values, dtype, *widths, keep_duplicates, available_bytes())
