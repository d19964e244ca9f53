"""The attributes of SciPy's sparse arrays, looked at before SciPy's own conversions read them: those trust them.

Attributes can be set to anything. SciPy's compiled loops then read and write past the ends of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.errors import SparseError, StorageError

__all__ = ["as_coo", "check_parts"]

_AXES: dict[str, dict[str, int]] = {
    "csr": {"indptr": 1, "indices": 1, "data": 1},
    "csc": {"indptr": 1, "indices": 1, "data": 1},
    "bsr": {"indptr": 1, "indices": 1, "data": 3},
    "dia": {"offsets": 1, "data": 2},
    "lil": {"rows": 1, "data": 1},
}
"""How many axes the arrays have that each format keeps in attributes."""


def check_parts(source: Any) -> None:
    """Checks that the attributes of a SciPy array are arrays that may belong together.

    Raises:
        StorageError: for those that are not.
    """
    for name, axes in _AXES.get(source.format, {}).items():
        part = getattr(source, name, None)
        if not isinstance(part, np.ndarray):
            raise StorageError(f"expected {name} of a {source.format} to be an array, but got {type(part).__name__}")
        if part.ndim != axes:
            given = f"shape {part.shape}"
            raise StorageError(f"expected {name} of a {source.format} to have axes: {axes}, but got {given}")
    if source.format == "dia":
        _check_diagonals(source)
    elif source.format == "lil":
        _check_lists(source)
    elif source.format in ("csr", "csc", "bsr") and not source.indptr.size:
        raise StorageError(f"expected indptr of a {source.format} to start at 0, but got no element")


def _check_diagonals(source: Any) -> None:
    if source.offsets.dtype.kind not in "iu":
        raise StorageError(f"expected offsets of a dia to be integers, but got {source.offsets.dtype}")
    count, lines = source.offsets.size, source.data.shape[0]
    if count != lines:
        raise StorageError(f"expected an offset for each of the {lines} rows of data of a dia, but got {count}")


def _check_lists(source: Any) -> None:
    """Refuses rows with more coordinates than values: SciPy returns what happens to be in memory for those."""
    if source.rows.size != source.data.size:
        raise StorageError(f"expected {source.rows.size} lists of values in a lil, as rows, but got {source.data.size}")
    for row, (coordinates, values) in enumerate(zip(source.rows, source.data, strict=True)):
        if not (isinstance(coordinates, list) and isinstance(values, list)) or len(coordinates) != len(values):
            rule = f"expected lists of as many coordinates as values in row {row} of a lil"
            raise StorageError(f"{rule}, but got {coordinates} and {values}")


def as_coo(source: Any) -> Any:
    """Returns a SciPy array as its coo, whose coordinates are still to be checked.

    Raises:
        StorageError: for arrays whose attributes contradict one another.
    """
    if source.format == "coo":
        return source
    try:
        return source.tocoo()
    except SparseError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        kind = source.format
        raise StorageError(
            f"expected a {kind} that SciPy itself can read, but got from its tocoo(): {error}"
        ) from error
