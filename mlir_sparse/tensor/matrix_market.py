"""Matrix Market files of matrices and vectors, through the package fast_matrix_market."""

from __future__ import annotations

import io
import re
from typing import IO, Any

import numpy as np

from mlir_sparse.errors import FileFormatError
from mlir_sparse.tensor.storage import Array
from mlir_sparse.tensor.text_lines import Entries, TextFile

__all__ = ["read_matrix", "write_matrix"]

_LINE = re.compile(r"Line (\d+): (.*)", re.DOTALL)


def read_matrix(file: TextFile) -> Entries:
    """Returns the entries of a Matrix Market file, symmetric ones on both sides of the diagonal.

    Every field and symmetry is taken; a `pattern` has ones for values, and the
    object `vector` gives a tensor of one dimension.

    Raises:
        FileFormatError: for what the format does not allow, with the line where there is one.
    """
    import fast_matrix_market  # 20 ms that only files need

    try:
        head = _read_head(file, fast_matrix_market)
        read, shape = fast_matrix_market.read_array_or_coo(_native_source(file))
    except (ValueError, OverflowError) as error:
        raise _reworded(file, str(error)) from None
    except MemoryError as error:
        raise file.error(None, f"expected extents and entries that fit in memory, but got {error}") from None
    vector = head.object == "vector"
    if isinstance(read, np.ndarray):
        dense = np.ascontiguousarray(read[:, 0] if vector else read)
        return Entries(dense.shape, (), np.empty(0), dense=dense)
    values, dims = read
    if vector:
        return Entries(shape[:1], tuple(dims[:1]), _signed(values))
    return Entries(tuple(shape), tuple(dims), _signed(values))


def _native_source(file: TextFile) -> object:
    # A Python error inside a stream that the package reads would end the process: it gets names and bytes only.
    if not file.compressed:
        return file.name
    with file.open() as stream:
        return io.BytesIO(stream.read())


def _read_head(file: TextFile, reader: Any) -> Any:
    head = reader.read_header(_native_source(file))
    rows, columns = head.shape
    if head.symmetry != "general" and rows != columns:
        raise file.error(None, f"expected a square matrix for {head.symmetry}, but got {rows} x {columns}")
    return head


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
        columns = entries.dense.reshape(-1, 1) if entries.dense.ndim == 1 else entries.dense
        fast_matrix_market.write_array(text, columns, comment=comment)
    else:
        dims, shape = _two_dimensions(entries)
        fast_matrix_market.write_coo(text, (entries.values, dims), shape=shape, comment=comment)
    file.write(text.getbuffer())


def _two_dimensions(entries: Entries) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    if len(entries.shape) == 2:
        return entries.dims, entries.shape
    (rows,) = entries.dims
    return (rows, np.zeros_like(rows)), (*entries.shape, 1)
