"""Matrix Market files (Boisvert et al. 1996), and TACO's `.ttx`, the same format for tensors.

Files that deviate from the format are read like `scipy.io.mmread` does: an entry of a symmetric file may be on either
side of the diagonal and counts on both; one on the diagonal counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import IO

import numpy as np

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.tensor.files.market_head import Head
from mlir_sparse.tensor.files.text_rows import TextEntries, TextRows, read_row_blocks, read_rows, write_rows
from mlir_sparse.tensor.files.text_stream import TextPlace, TextStream
from mlir_sparse.tensor.level_storage import Array

__all__ = ["read_market", "read_market_blocks", "write_matrix", "write_tensor"]

# Functions from a value to its mirror image beyond the diagonal.
_OPPOSITE: Mapping[str, Callable[[Array], Array]] = {
    "symmetric": lambda values: values,
    "skew-symmetric": lambda values: -values,
    "hermitian": np.conj,
}


def read_market(stream: TextStream, head: Head) -> TextEntries:
    """Returns the entries or the array after the head.

    Raises:
        FileFormatError: for lines that contradict the head.
        TooLargeError: for data that would not fit in memory.
    """
    return _read_array(stream, head) if head.layout == "array" else _read_entries(stream, head)


def _read_entries(stream: TextStream, head: Head) -> TextEntries:
    dims, values = read_rows(stream, _rows_of(head))
    _check_opposites(stream, head, values)
    return _mirrored(TextEntries(head.shape, dims, values), head.symmetry)


def read_market_blocks(
    stream: TextStream,
    head: Head,
    use: Callable[[TextEntries, TextPlace], None],
    within: tuple[TextPlace, int] | None = None,
) -> None:
    """Passes the entries after the head, or within some of the file, a block at a time.

    Raises:
        FileFormatError: for lines that contradict the head.
        UnsupportedError: for an array.
    """
    if head.layout == "array":
        raise UnsupportedError(
            f"{stream.name}: expected entries, but got an array, which is dense: ms.read reads it whole"
        )

    def pass_on(dims: tuple[Array, ...], values: Array, place: TextPlace) -> None:
        _check_opposites(stream, head, values)
        use(_mirrored(TextEntries(head.shape, dims, values), head.symmetry), place)

    read_row_blocks(stream, _rows_of(head), pass_on, within)


def _rows_of(head: Head) -> TextRows:
    return TextRows(head.shape, head.value, "%", announced=head.entries, narrow=head.object == "matrix")


def _check_opposites(stream: TextStream, head: Head, values: Array) -> None:
    """Refuses the least integer, whose negative overflows, in skew-symmetric files."""
    if head.symmetry == "skew-symmetric" and head.value == "integer" and values.min(initial=0) == -(2**63):
        raise stream.error(None, "expected integers above -2^63, for skew-symmetry, but got it")


def _mirrored(half: TextEntries, symmetry: str) -> TextEntries:
    """Returns the entries and their mirror images."""
    if symmetry == "general":
        return half
    rows, columns = half.dims
    off = np.flatnonzero(rows != columns)
    values = np.concatenate([half.values, _OPPOSITE[symmetry](half.values[off])])
    dims = (np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]]))
    return TextEntries(half.shape, dims, values)


def _read_array(stream: TextStream, head: Head) -> TextEntries:
    """Returns a dense array: one value a line, the first dimension running fastest.

    The file of a symmetric matrix has its lower half, without the diagonal if it is skew-symmetric.
    """
    count = _values_of_array(head)
    _, values = read_rows(stream, TextRows((), head.value, "%", announced=count))
    _check_opposites(stream, head, values)
    _check_dense(stream, head.shape, values.itemsize)
    if head.symmetry == "general":
        dense = np.ascontiguousarray(values.reshape(head.shape, order="F"))
    else:
        dense = _square(values, head.shape[0], head.symmetry)
    return TextEntries(head.shape, (), np.empty(0), dense=dense)


def _check_dense(stream: TextStream, shape: tuple[int, ...], itemsize: int) -> None:
    """Refuses an array too large for memory, or for NumPy, whose strides must fit even if an axis is empty."""
    strided = math.prod(extent or 1 for extent in shape) * itemsize
    needed = 2 * math.prod(shape) * itemsize  # the array, and the values read before it
    check_fits(strided if strided >= 2**63 else needed, f"{stream.name} as a dense array")


def _values_of_array(head: Head) -> int:
    if head.symmetry == "general":
        return math.prod(head.shape)
    size = head.shape[0]
    return size * (size - 1 if head.symmetry == "skew-symmetric" else size + 1) // 2


def _square(values: Array, size: int, symmetry: str) -> Array:
    """Returns the square array with the given lower half, column by column."""
    dense = np.zeros((size, size), values.dtype)
    skipped = int(symmetry == "skew-symmetric")
    start = 0
    for column in range(size - skipped):
        part = values[start : start + size - column - skipped]
        dense[column, column + skipped :] = _OPPOSITE[symmetry](part)
        dense[column + skipped :, column] = part
        start += part.size
    return dense


def write_matrix(file: IO[bytes], entries: TextEntries, comment: str) -> None:
    """Writes a matrix as coordinates or, if it is dense, as an array; a vector becomes one column."""
    _write(file, "matrix", entries if len(entries.shape) == 2 else _as_column(entries), comment)


def write_tensor(file: IO[bytes], entries: TextEntries, comment: str) -> None:
    """Writes a tensor of any rank as coordinates or, if it is dense, as an array."""
    _write(file, "tensor", entries, comment)


def _as_column(entries: TextEntries) -> TextEntries:
    shape = (*entries.shape, 1)
    if entries.dense is not None:
        return TextEntries(shape, (), entries.values, dense=entries.dense.reshape(shape))
    (rows,) = entries.dims
    return TextEntries(shape, (rows, np.zeros_like(rows)), entries.values)


def _write(file: IO[bytes], what: str, entries: TextEntries, comment: str) -> None:
    values = entries.values if entries.dense is None else entries.dense.reshape(-1, order="F")
    field = {"i": "integer", "u": "unsigned-integer", "f": "real", "c": "complex"}[values.dtype.kind]
    layout = "coordinate" if entries.dense is None else "array"
    sizes = entries.shape if entries.dense is not None else (*entries.shape, values.size)
    lines = [f"%%MatrixMarket {what} {layout} {field} general\n", *(f"%{line}\n" for line in comment.splitlines())]
    file.write("".join([*lines, "%\n", f"{' '.join(map(str, sizes))}\n"]).encode())
    write_rows(file, entries.dims, values)
