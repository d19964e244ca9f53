"""Tensors in files: `read` and `write`.

| name ends in | format | holds |
|---|---|---|
| `.mtx` | Matrix Market (Boisvert et al. 1996) | matrices, coordinate or array, every field and symmetry |
| `.ttx` | Matrix Market with `tensor` for `matrix`, as TACO writes it | tensors of any rank |
| `.tns` | FROSTT, plain or extended as MLIR's `sparse_tensor.new` reads it | sparse tensors of any rank, real |
| `.npz` | SciPy's `save_npz`, or level arrays | matrices that SciPy has, and every storage as it is |
| `.bsp.h5`, `.bsp` | Binsparse in HDF5, through the package `binsparse` | dense, compressed and COO levels as stored |
| HDF5, Zarr | Binsparse, AnnData, 10x Genomics, MATLAB 7.3 (`array_groups`); read only | the levels as stored |
| `.parquet` | a row for each entry: coordinates from 0, and a value; read only | matrices as CSR, others as COO |

Names of text files may also end in `.gz`. Reading recognises Matrix Market files, and `sptensor` text of the Tensor
Toolbox and GenTen, by their first line, under any name. Coordinates in files count from 1 (see `read` for the
exception).
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import DTypeLike

from mlir_sparse.disk import replacing
from mlir_sparse.dtypes import INTEGER, UNSIGNED, DType
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import FileFormatError, OperandError, StorageError, UnsupportedError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.process.progress import progress
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import from_entries, tensor, tensor_with_zeros
from mlir_sparse.tensor.files.array_groups import is_hdf5, is_zarr, levels_in_groups
from mlir_sparse.tensor.files.binsparse import is_binsparse, read_binsparse, write_binsparse
from mlir_sparse.tensor.files.frostt import read_frostt, read_frostt_blocks, read_sptensor, write_frostt
from mlir_sparse.tensor.files.market_head import read_head
from mlir_sparse.tensor.files.matrix_market import read_market, read_market_blocks, write_matrix, write_tensor
from mlir_sparse.tensor.files.npz import is_npz, read_npz, write_npz
from mlir_sparse.tensor.files.parquet_source import ParquetSource, is_parquet
from mlir_sparse.tensor.files.stored_levels import tensor_of_levels
from mlir_sparse.tensor.files.text_rows import TextEntries
from mlir_sparse.tensor.files.text_stream import TextPlace, TextStream, opened, shown
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.given_arguments import path_of

__all__ = ["check_written_name", "is_read_in_blocks", "read", "read_blocks", "write"]

_TEXTS = (".mtx", ".ttx", ".tns")


def read(
    path: str | os.PathLike[str],
    encoding: str | Encoding | None = None,
    *,
    dtype: DTypeLike | DType | None = None,
    shape: Sequence[int] | None = None,
    index_base: int | None = None,
    **parameters: Any,
) -> SparseTensor | Array:
    """Returns the tensor that a file holds.

    Args:
        path: a file in one of the formats of this module, compressed or not.
        encoding: any argument of `encoding`. By default coordinates become SparseVector, CSR or COO by their rank,
            arrays stay dense NumPy arrays, and Binsparse and `.npz` keep their levels.
        dtype: the element type; by default f64, i64 or c128, by the file's field.
        shape: the extents, for `.tns` and Parquet files, which lack them; by default the largest coordinates.
        index_base: 0 for a `.tns` or `sptensor` file that counts from 0. By default `.tns` counts
            from 1; `sptensor` text counts from 1 if an extent occurs as a coordinate, else from 0.
        parameters: parameters of a preset, as for `encoding`.

    Raises:
        MissingPackageError: for a file whose package (binsparse, h5py, zarr, pyarrow) is not installed.
        FileFormatError: for a truncated, empty or malformed file, with the line if it has lines.
        TooLargeError: for entries that need more than half of the memory available.
        OSError: for a file that cannot be opened.
    """
    name = path_of(path)
    with progress(f"reading {os.path.basename(name)}") as done:
        return _read(name, encoding, dtype, shape, index_base, parameters, done)


def _read(
    name: str,
    encoding: str | Encoding | None,
    dtype: DTypeLike | DType | None,
    shape: Sequence[int] | None,
    index_base: int | None,
    parameters: dict[str, Any],
    done: Callable[[float], None],
) -> SparseTensor | Array:
    if is_binsparse(name):
        return read_binsparse(name, encoding, dtype, parameters)
    if is_npz(name):
        of_arrays: SparseTensor = read_npz(name, encoding, dtype, parameters)
        return of_arrays
    stored = _read_stored(name, shape)
    if stored is not None:
        found = stored if dtype is None else stored.astype(dtype)
        return found if encoding is None and not parameters else tensor(found, encoding, **parameters)
    entries = _read_entries(name, shape, index_base, done)
    if entries.dense is not None and encoding is None:
        return entries.dense if dtype is None else entries.dense.astype(DType.of(dtype).numpy)
    return _to_tensor(entries, encoding, dtype, parameters)


def _read_stored(name: str, shape: Sequence[int] | None) -> SparseTensor | None:
    """Returns the tensor of a file that is no text."""
    if is_parquet(name):
        rows = ParquetSource(name, 0, shape, None)
        return rows.read(0, rows.shape[0])
    if not is_zarr(name) and not is_hdf5(name):
        return None
    label, stored = levels_in_groups(name, None)
    check_fits(sum(array.nbytes for array in stored.arrays), label)
    try:
        return tensor_of_levels(stored.in_memory())
    except StorageError as error:
        raise FileFormatError(f"{label}: {error.message}") from error


def _to_tensor(
    entries: TextEntries, encoding: str | Encoding | None, dtype: object, parameters: dict[str, Any]
) -> SparseTensor:
    if entries.dense is not None:
        return tensor(entries.dense, encoding, dtype=dtype, **parameters)  # type: ignore[arg-type]  # DType.of judges it
    rank = len(entries.shape)
    default = "SparseVector" if rank == 1 else "CSR" if rank == 2 else "COO"
    chosen = default if encoding is None and "block" not in parameters else encoding
    return from_entries(entries.dims, entries.values, entries.shape, chosen, dtype=dtype, parameters=parameters)


def _read_entries(
    name: str, shape: Sequence[int] | None, index_base: int | None, done: Callable[[float], None]
) -> TextEntries:
    with opened(name, done) as stream:
        first = _first_line(stream)
        if first.startswith(b"%%MatrixMarket"):
            stream.line()
            return read_market(stream, read_head(stream, first))
        if first.split()[:1] == [b"sptensor"]:
            return read_sptensor(stream, index_base)
        if _stem(name).endswith(".tns"):
            return read_frostt(stream, shape, 1 if index_base is None else index_base)
        rule = "a line that begins with %%MatrixMarket or sptensor, or a name that ends in .tns or .tns.gz"
        raise FileFormatError(f"{name}: expected {rule}, but got {shown(first)}{_way_out(name)}")


def _way_out(name: str) -> str:
    """Returns how SciPy reads what others write: Matlab's files, and those of Harwell and Boeing."""
    suffix = _stem(name).rpartition(".")[2]
    if suffix == "mat":
        return ": pass an array of scipy.io.loadmat"
    if suffix == "hb" or (len(suffix) == 3 and suffix[0] in "rcp" and suffix[1] in "suhz" and suffix[2] in "ae"):
        return ": pass scipy.io.hb_read(path), or convert it to Matrix Market"
    # SciPy takes the format of Rutherford and Boeing only where its head is written as in the older one.
    return ": convert it to Matrix Market" if suffix == "rb" else ""


def read_blocks(
    name: str,
    shape: Sequence[int] | None,
    index_base: int | None,
    use: Callable[[TextEntries, TextPlace], None],
    *,
    within: tuple[TextPlace, int] | None = None,
) -> tuple[int, ...] | None:
    """Passes the entries of a text file a block at a time, so that memory is that of a block.

    Args:
        name: a `.mtx`, `.ttx` or `.tns` file, compressed or not.
        shape: as for `read`.
        index_base: likewise.
        use: takes the entries of a block, in the file's order, and where its lines begin.
        within: where the first line to read begins, and the byte behind the last, of a file that is not compressed; all
            lines by default.

    Returns:
        the extents; None where the file does not say them.

    Raises:
        FileFormatError: as `read`.
        UnsupportedError: for an array, and for `sptensor` text.
    """
    with opened(name) as stream:
        first = _first_line(stream)
        if first.startswith(b"%%MatrixMarket"):
            stream.line()
            head = read_head(stream, first)
            read_market_blocks(stream, head, use, within)
            return head.shape
        if _stem(name).endswith(".tns"):
            return read_frostt_blocks(stream, shape, 1 if index_base is None else index_base, use, within)
        rule = "a Matrix Market file, or a name that ends in .tns or .tns.gz, to read a block at a time"
        raise UnsupportedError(f"{name}: expected {rule}, but got {shown(first)}")


def is_read_in_blocks(name: str) -> bool:
    """Returns whether `read_blocks` takes a text file."""
    with opened(name) as stream:
        return _first_line(stream).startswith(b"%%MatrixMarket") or _stem(name).endswith(".tns")


def _first_line(stream: TextStream) -> bytes:
    """Returns the first line that is not blank, and leaves it in the stream."""
    while (line := stream.peek()) is not None:
        if line.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
            kind = "UTF-8 with a byte order mark" if line.startswith(b"\xef") else "UTF-16"
            raise stream.error(
                None, f"expected plain ASCII or UTF-8, but got {kind}: save the file as UTF-8 without one"
            )
        if line.strip():
            return line
        stream.line()
    raise stream.error(None, "expected a tensor, but got an empty file")


def _stem(name: str) -> str:
    return name.lower().removesuffix(".gz")


def write(path: str | os.PathLike[str], source: object, *, comment: str = "", compressed: bool = False) -> None:
    """Writes a tensor to a file, whole or not at all.

    Args:
        path: the file; its name decides the format and the compression (see this module).
        source: a SparseTensor, another library's sparse array, or a dense array or number. Dense sources are written as
            arrays in `.mtx` and `.ttx`, and as their nonzeros in `.tns`; a vector is one column in
            `.mtx`, a number a vector of one in `.ttx`.
        comment: lines for the head of the file.
        compressed: whether the arrays of `.npz` are compressed; kernels do not stream those from the disk.

    Raises:
        UnsupportedError: for a name or tensor without a format.
        OSError: when the file cannot be written; an old file stays.
    """
    name = path_of(path)
    if source is None or isinstance(source, str | bytes):
        raise OperandError(f"expected a tensor to write to {name}, but got {source!r}")
    if compressed and not is_npz(name):
        raise UnsupportedError(f"expected an .npz file for compressed=True, but got {name}: .mtx.gz is compressed text")
    with progress(f"writing {os.path.basename(name)}"):
        _write(name, source, comment, compressed)


def _write(name: str, source: object, comment: str, compressed: bool) -> None:
    if is_binsparse(name):
        with replacing(name) as file:
            write_binsparse(name, file.name, source, comment)
        return
    if is_npz(name):
        with replacing(name) as file:
            write_npz(file, source, compressed=compressed)
        return
    entries = _entries_of(source)
    check_written_name(name, len(entries.shape))
    write_to = _writer(name, entries)
    with replacing(name) as file:
        if name.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                write_to(cast(IO[bytes], packed), entries, comment)
        else:
            write_to(file, entries, comment)


def check_written_name(name: str, rank: int) -> None:
    """Refuses a name that no format has, or none for tensors of a rank, before anything is computed or written.

    Raises:
        UnsupportedError: with the names that there are.
    """
    suffix = Path(_stem(name)).suffix
    if not (is_binsparse(name) or is_npz(name) or suffix in _TEXTS):
        known = f"{', '.join(_TEXTS)} or those with .gz, .npz or .bsp.h5"
        raise UnsupportedError(f"expected a name that ends in {known}, but got {name}")
    if suffix == ".mtx" and rank > 2:
        raise UnsupportedError(f"expected a matrix for {name}, but got a tensor of rank {rank}: write a .ttx file")


def _entries_of(source: object) -> TextEntries:
    """Returns coordinates and values, or the dense array, with an element type that files have."""
    if isinstance(source, SparseTensor) or is_sparse_source(source):
        given = tensor_with_zeros(source, "a file of its format")
        coordinates, values = given.to_coo()
        return TextEntries(given.shape, tuple(coordinates), _widened(values))
    array = tensor(np.atleast_1d(array_of(source, "a tensor or an array to write")), "dense").to_numpy()
    return TextEntries(array.shape, (), np.empty(0), dense=_widened(array))


def _widened(values: Array) -> Array:
    dtype = DType.of(values.dtype)
    whole = UNSIGNED if dtype.is_unsigned else INTEGER
    wide = whole if dtype.is_exact else dtype.accumulated_in
    return values.astype(wide.numpy, copy=False)


def _writer(name: str, entries: TextEntries) -> Callable[[IO[bytes], TextEntries, str], None]:
    rank = len(entries.shape)
    match Path(_stem(name)).suffix:
        case ".mtx":
            return write_matrix
        case ".ttx":
            return write_matrix if rank == 2 else write_tensor
        case ".tns" if np.iscomplexobj(entries.values if entries.dense is None else entries.dense):
            raise UnsupportedError(f"expected real values for {name}, but got complex ones: write a .ttx file")
        case ".tns":
            return write_frostt
        case _:
            raise AssertionError(f"{name} has been checked")
