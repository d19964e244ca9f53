"""Matrix Market files of matrices, through the package fast_matrix_market."""

from __future__ import annotations

import io
import re
from typing import IO

import numpy as np

from mlir_sparse.errors import FileFormatError
from mlir_sparse.tensor.market_text import Head
from mlir_sparse.tensor.storage import Array
from mlir_sparse.tensor.text_lines import Entries, TextFile

__all__ = ["read_matrix", "write_matrix"]

_LINE = re.compile(r"Line (\d+): (.*)", re.DOTALL)


def read_matrix(file: TextFile, head: Head) -> Entries:
    """Returns the entries of a coordinate file, symmetric ones on both sides of the diagonal.

    Args:
        file: what to read.
        head: its head, already checked.

    Raises:
        FileFormatError: for lines that do not hold what the head says.
    """
    import fast_matrix_market  # 20 ms that only files need

    try:
        # The package dies mirroring some files that are truncated: the other half is made here.
        (values, dims), shape = fast_matrix_market.read_coo(_native_source(file), generalize_symmetry=False)
    except (ValueError, OverflowError) as error:
        raise _reworded(file, str(error)) from None
    except MemoryError:
        raise file.error(head.line, f"expected entries that fit in memory, but got {head.entries}") from None
    return _mirrored(Entries(tuple(shape), tuple(dims), _signed(values)), head.symmetry)


def _mirrored(half: Entries, symmetry: str) -> Entries:
    """Returns the entries with those on the other side of the diagonal."""
    if symmetry == "general":
        return half
    rows, columns = half.dims
    off = np.flatnonzero(rows != columns)
    values = half.values[off]
    other = {"symmetric": values, "skew-symmetric": -values, "hermitian": values.conj()}[symmetry]
    dims = (np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]]))
    return Entries(half.shape, dims, np.concatenate([half.values, other]))


def _native_source(file: TextFile) -> object:
    """Returns what the package can read without dying of it: a name, or bytes, that end with a whole line.

    It reads on past a last line that no newline ends, and a Python error inside a stream ends the process.
    """
    if not file.compressed and _ends_with_newline(file.name):
        return file.name
    with file.open() as stream:
        return io.BytesIO(stream.read() + b"\n")


def _ends_with_newline(name: str) -> bool:
    with open(name, "rb") as stream:
        stream.seek(-1, io.SEEK_END)  # it has a head, so it has bytes
        return stream.read() == b"\n"


def _signed(values: Array) -> Array:
    # The field unsigned-integer: MLIR's integers have no sign of their own.
    return values.astype(np.int64) if values.dtype.kind == "u" and values.max(initial=0) < 2**63 else values


def _reworded(file: TextFile, text: str) -> FileFormatError:
    match = _LINE.match(text)
    line, reason = (int(match[1]), match[2]) if match else (None, text)
    return file.error(line, f"expected a Matrix Market file, but got: {reason.rstrip('.')}")


def write_matrix(file: IO[bytes], entries: Entries, comment: str) -> None:
    """Writes a matrix as coordinates or, if it is dense, as an array; a vector becomes one column."""
    import fast_matrix_market

    text = io.BytesIO()  # see _native_source
    if entries.dense is not None:
        _write_array(text, entries.dense.reshape(-1, 1) if entries.dense.ndim == 1 else entries.dense, comment)
    else:
        dims, shape = _two_dimensions(entries)
        fast_matrix_market.write_coo(text, (entries.values, dims), shape=shape, comment=comment)
    file.write(text.getbuffer())


def _write_array(text: io.BytesIO, array: Array, comment: str) -> None:
    import fast_matrix_market

    rows, columns = array.shape
    if rows > 0 or columns == 0:
        fast_matrix_market.write_array(text, array, comment=comment)
        return
    # fast_matrix_market never returns from an array without rows; without columns the text differs by its size only.
    fast_matrix_market.write_array(text, array.reshape(columns, 0), comment=comment)
    head = text.getvalue().rstrip(b"\n").rpartition(b"\n")[0]
    text.seek(0)
    text.truncate()
    text.write(head + f"\n{rows} {columns}\n".encode())


def _two_dimensions(entries: Entries) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    if len(entries.shape) == 2:
        return entries.dims, entries.shape
    (rows,) = entries.dims
    return (rows, np.zeros_like(rows)), (*entries.shape, 1)
