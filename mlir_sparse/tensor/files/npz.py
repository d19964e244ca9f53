"""`.npz` files: matrices as SciPy saves them, and every other storage as its level arrays.

CSR, CSC, BSR and COO matrices are written as SciPy writes csr, csc, bsr and coo (`scipy.sparse.save_npz`), and its dia
is read. COO with a fill value is written as pydata/sparse writes it, whose coo and gcxs are read. Other storage has
`encoding`, the attribute's text, `shape`, `element_type`, `positions_0`, `coordinates_0` and so on for the levels that
have them, `values`, and `fill_value` where it is not zero. A part of a tensor that was cut has `part_of` too: its first
coordinate in the whole, the one behind its last, and the extent. Large arrays have checksums of their blocks beside
them (`npz_members`), which others skip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.disk.bad_file_errors import refusing
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import FileFormatError, SparseError, TooLargeError, UnsupportedError
from mlir_sparse.tensor.batch_and_slice_parts import plain_encoding
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import from_entries, tensor
from mlir_sparse.tensor.files.npz_members import write_members
from mlir_sparse.tensor.files.stored_levels import StoredLevels, tensor_of_levels
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.files.file_array import FileArray

__all__ = ["check_zero_fill", "is_npz", "levels_of", "read_npz", "write_npz"]

_RULE = "a tensor as scipy.sparse.save_npz or mlir_sparse.write saves it"


def is_npz(name: str) -> bool:
    """Returns whether a file's name ends in `.npz`."""
    return name.lower().endswith(".npz")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Names the file in errors about what it holds."""
    try:
        with refusing(name, _RULE):
            yield
    except (FileFormatError, TooLargeError):
        raise
    except SparseError as error:
        raise FileFormatError(f"{name}: {error}") from error


def levels_of(name: str, arrays: Mapping[str, Array | FileArray]) -> StoredLevels | None:
    """Returns the levels that a file's arrays are; None for SciPy's coo and dia, whose entries are in no order.

    Raises:
        FileFormatError: for arrays of no tensor.
    """
    with _named(name):
        shape = tuple(map(int, np.asarray(arrays["shape"])))
        place = _place(arrays)
        if "encoding" in arrays:
            encoding = as_encoding(_text(arrays["encoding"]))
            dtype = DType.of(_text(arrays["element_type"]))
            positions, coordinates = (
                tuple(arrays.get(f"{word}_{level}") for level in range(encoding.lvl_rank))
                for word in ("positions", "coordinates")
            )
            return StoredLevels(encoding, shape, dtype, positions, coordinates, arrays["values"], False, place)
        found = _of_scipy(_text(arrays["format"]), arrays["data"])
        if found is None:
            return None
        data, rest = arrays["data"], (None,) * (found.lvl_rank - 2)
        positions, coordinates = (None, arrays["indptr"], *rest), (None, arrays["indices"], *rest)
        return StoredLevels(found, shape, DType.of(data.dtype), positions, coordinates, data, True, place)


def _place(arrays: Mapping[str, Array | FileArray]) -> tuple[int, int, int] | None:
    if "part_of" not in arrays:
        return None
    low, high, extent = map(int, np.asarray(arrays["part_of"]))
    return low, high, extent


def _text(array: Any) -> str:
    value = array[()]
    return value.decode() if isinstance(value, bytes) else str(value)


def _of_scipy(format: str, data: Any) -> Encoding | None:
    match format:
        case "csr" | "csc":
            return as_encoding(format.upper())
        case "bsr":
            return as_encoding("BSR", block=data.shape[1:])
        case "coo" | "dia" | "gcxs":
            return None
        case _:
            raise FileFormatError(f"expected csr, csc, bsr, coo, dia or gcxs, but got {format}")


def read_npz(name: str, encoding: str | Encoding | None, dtype: Any, parameters: dict[str, Any]) -> Any:
    """Returns the tensor of a file, by default in the file's storage; a FilledTensor where the file has a fill value.

    Raises:
        FileFormatError: for other arrays, and levels that break a rule of their encoding.
    """
    with open(name, "rb") as file, refusing(name, _RULE):
        arrays = dict(np.load(file, allow_pickle=False))
    with _named(name):
        stored = levels_of(name, arrays)
        found: Any = _of_entries(arrays) if stored is None else tensor_of_levels(stored)
        if "fill_value" in arrays:
            found = found.with_fill(arrays["fill_value"].view(found.dtype)[()])
    if dtype is not None:
        found = found.astype(dtype)
    return found if encoding is None and not parameters else tensor(found, encoding, **parameters)


def check_zero_fill(name: str, arrays: Mapping[str, Any]) -> None:
    """Raises UnsupportedError for a file with a fill value other than zero, to be read in parts."""
    fill = np.asarray(arrays["fill_value"])[()] if "fill_value" in arrays else 0
    if fill != 0:
        raise UnsupportedError(
            f"{name}: expected zeros where nothing is stored to read parts of, but got fill value {fill}: use ms.read"
        )


def _gcxs_coordinates(arrays: Mapping[str, Array], shape: tuple[int, ...]) -> list[Array]:
    """Returns the coordinates of pydata/sparse's GCXS: lines over some axes, and places in those over the others."""
    if len(shape) == 1:
        return [arrays["indices"]]
    axes = [int(axis) for axis in arrays["compressed_axes"]]
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    ends = arrays["indptr"].astype(np.int64)
    lines = np.repeat(np.arange(ends.size - 1), ends[1:] - ends[:-1])
    dims: dict[int, Array] = {}
    for some, places in ((axes, lines), (rest, arrays["indices"])):
        dims |= dict(zip(some, np.unravel_index(places, [shape[axis] for axis in some]), strict=True))
    return [dims[axis] for axis in range(len(shape))]


def _of_entries(arrays: Mapping[str, Array]) -> SparseTensor:
    shape, data = tuple(map(int, arrays["shape"])), arrays["data"]
    if "compressed_axes" in arrays:
        storage = {2: "CSR" if tuple(arrays["compressed_axes"]) == (0,) else "CSC", 1: "SparseVector"}
        dims = _gcxs_coordinates(arrays, shape)
        return from_entries(dims, data, shape, storage.get(len(shape), "COO"), dtype=None, parameters={})
    if "offsets" not in arrays:
        dims = [arrays["row"], arrays["col"]] if "row" in arrays else list(arrays["coords"])
        return from_entries(dims, data, shape, "COO" if len(shape) > 1 else "SparseVector", dtype=None, parameters={})
    columns = np.arange(min(data.shape[1], shape[1]))
    rows = columns[None, :] - arrays["offsets"].astype(np.int64)[:, None]
    inside = (rows >= 0) & (rows < shape[0])
    dims = [rows[inside], np.broadcast_to(columns, rows.shape)[inside]]
    values = data[:, : columns.size][inside]
    return from_entries(dims, values, shape, "DIA", dtype=None, parameters={})


def write_npz(
    file: IO[bytes], source: object, place: tuple[int, int, int] | None = None, *, compressed: bool = False
) -> None:
    """Writes a tensor: as SciPy would where it has the format, else as level arrays. An array is written dense.

    Args:
        file: is written to.
        source: the tensor.
        place: where it stands in the tensor that it is a part of, as `StoredLevels` says it.
        compressed: whether the arrays are compressed.
    """
    if is_sparse_source(source):
        source = tensor(source)
    fill = source.fill_value if isinstance(source, FilledTensor) else None
    source = source.stored if isinstance(source, FilledTensor) else source
    if not isinstance(source, SparseTensor):
        source = tensor(np.atleast_1d(array_of(source, "a tensor or an array to write")), "dense")
    if source.encoding.has_slices:
        source = source.convert(plain_encoding(source.encoding))
    arrays = _arrays_of(source) if fill is None else _arrays_beside(source, fill)
    if place is not None:
        arrays["part_of"] = np.array(place)
    if compressed:
        np.savez_compressed(file, **arrays)
    else:
        write_members(file, arrays)


def _arrays_beside(source: SparseTensor, fill: np.generic) -> dict[str, Any]:
    """Returns the arrays of a tensor with a fill value: for COO as pydata/sparse has them."""
    plain = source.encoding.with_widths(0, 0)
    name = "COO" if source.ndim > 1 else "SparseVector"
    if plain != as_encoding(name, rank=source.ndim) or DType.of(source.dtype).package != "numpy":
        arrays, filling = _level_arrays(source), np.asarray(fill)
        return {**arrays, "fill_value": filling.view(arrays["values"].dtype)}
    coordinates, values = source.to_coo()
    arrays = {"data": values, "coords": coordinates, "fill_value": np.asarray(fill)}
    return {**arrays, "format": "coo", "shape": np.array(source.shape)}


def _arrays_of(source: SparseTensor) -> dict[str, Any]:
    storage, encoding = source.storage, source.encoding
    plain = encoding.with_widths(0, 0)
    block = tuple(encoding.block_of(dim) for dim in range(source.ndim)) if source.ndim == 2 else ()
    kind = next(
        (name for name in ("CSR", "CSC", "COO") if source.ndim == 2 and plain == as_encoding(name, rank=2)), None
    )
    if kind is None and block and min(block) > 0 and max(block) > 1 and plain == as_encoding("BSR", block=block):
        kind = "BSR"
    wide = all(width in (32, 64) for width in (encoding.pos_width, encoding.crd_width))
    if kind is None or not wide or DType.of(source.dtype).package != "numpy":
        return _level_arrays(source)
    arrays: dict[str, Any] = {"data": storage.values.reshape(-1, *block) if kind == "BSR" else storage.values}
    if kind == "COO":
        arrays |= {"row": storage.coordinates[0], "col": storage.coordinates[1]}
    else:
        arrays |= {"indices": storage.coordinates[1], "indptr": storage.positions[1]}
    return {**arrays, "format": kind.lower().encode(), "shape": np.array(source.shape), "_is_array": np.array(True)}


def _level_arrays(source: SparseTensor) -> dict[str, Any]:
    storage = source.storage
    values = storage.values
    if DType.of(values.dtype).package != "numpy":  # NumPy's files have no name for such types
        values = values.view(f"u{values.dtype.itemsize}")
    arrays: dict[str, Any] = {"encoding": str(source.encoding), "element_type": source.type.dtype.name}
    arrays |= {"shape": np.array(source.shape), "values": values}
    for word, kept in (("positions", storage.positions), ("coordinates", storage.coordinates)):
        arrays |= {f"{word}_{level}": array for level, array in enumerate(kept) if array is not None}
    return arrays
