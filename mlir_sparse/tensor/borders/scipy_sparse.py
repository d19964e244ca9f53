"""SciPy's sparse arrays and matrices, to and from SparseTensor; SciPy is imported only when needed."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.errors import CoordinatesError, DTypeError
from mlir_sparse.tensor.borders.foreign_parts import Lines
from mlir_sparse.tensor.borders.listed_entries import is_listed_in_order, listed_columns
from mlir_sparse.tensor.borders.scipy_parts import as_coo
from mlir_sparse.tensor.convert.convert import convert_storage, same_formats
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.convert.diagonals import dia_to_scipy, is_diagonals, storage_of_dia
from mlir_sparse.tensor.convert.pack import pack
from mlir_sparse.tensor.convert.row_passes import is_list_by_rows, is_rows
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.stored_padding import is_given
from mlir_sparse.tensor.validate import storage_of_levels

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["default_encoding", "format_of", "scipy_lines", "storage_of_scipy", "to_scipy", "turned_to_scipy"]


def default_encoding(source: Any) -> Encoding:
    """Returns the encoding of a SciPy array's format, or CSR for formats without one.

    csr, csc, coo, bsr and dia have their own; lil and dok become CSR.
    """
    rank = len(source.shape)
    if rank != 2:
        return as_encoding("SparseVector" if rank == 1 else "COO", rank=rank)
    match source.format:
        case "csc":
            return as_encoding("CSC")
        case "coo":
            return as_encoding("COO", rank=2)
        case "dia":
            return as_encoding("DIA")
        case "bsr" if min(source.blocksize) > 1:
            return as_encoding("BSR", block=source.blocksize)
        case _:
            return as_encoding("CSR")


def storage_of_scipy(source: Any, encoding: Encoding, dtype: object) -> LevelStorage:
    """Returns the storage of a SciPy array, sharing memory where its format is the encoding's.

    Arrays with unsorted indices or duplicates are copied, sorted and summed; the source is not changed.
    """
    source = _in_native_order(source)
    if source.format == "dia" and is_diagonals(encoding):
        diagonals = storage_of_dia(source, encoding, dtype)
        if diagonals is not None:
            return diagonals
    native = default_encoding(source)
    if source.format not in ("csr", "csc", "bsr") or len(source.shape) != 2 or _thin_blocks(source):
        return _storage_of_coo(source, encoding, dtype)
    direct = encoding if same_formats(native, encoding) else native
    try:
        storage = _storage_of_rows(source, direct, dtype)
    except CoordinatesError:
        if source.format == "bsr":
            return _storage_of_coo(source, encoding, dtype)
        # Unsorted or repeated entries are fine when sorted; any other fault raises again.
        storage = _storage_of_rows(source, _without_promises(native), dtype)
    if direct is encoding and storage.encoding.level_types == encoding.level_types:
        return storage
    return convert_storage(storage, tuple(source.shape), encoding)


def scipy_lines(source: Any) -> Lines | None:
    """Returns the arrays of a matrix in csr, csc or bsr; None for any other array, and for attributes that are none."""
    kind = source.format
    if kind not in ("csr", "csc", "bsr") or len(source.shape) != 2:
        return None
    positions, coordinates, values = source.indptr, source.indices, source.data
    if not type(positions) is type(coordinates) is type(values) is np.ndarray:
        return None
    return Lines(kind.upper(), source.shape, positions, coordinates, values)


def _in_native_order(source: Any) -> Any:
    """Returns an array in the machine's byte order, which SciPy's own conversions need."""
    values = getattr(source, "data", None)
    if not isinstance(values, np.ndarray) or values.dtype.isnative or values.dtype.kind == "O":
        return source
    native = copy(source)
    native.data = values.astype(values.dtype.newbyteorder("="))
    return native


def _thin_blocks(source: Any) -> bool:
    return bool(source.format == "bsr" and min(source.blocksize) == 1)


def _storage_of_rows(source: Any, encoding: Encoding, dtype: object) -> LevelStorage:
    indptr, indices, data = source.indptr, source.indices, source.data
    used = int(indptr[-1])  # SciPy allows unused capacity
    if 0 <= used < len(indices):
        indices, data = indices[:used], data[:used]
    none = [None] * (encoding.lvl_rank - 2)
    storage, _, _ = storage_of_levels(
        encoding, source.shape, [None, indptr, *none], [None, indices, *none], data, dtype
    )
    return storage


def _without_promises(encoding: Encoding) -> Encoding:
    outer, inner = encoding.levels
    loose = (LevelProperty.NONUNIQUE, LevelProperty.NONORDERED)
    return replace(encoding, levels=(outer, replace(inner, type=replace(inner.type, properties=loose))))


def _storage_of_coo(source: Any, encoding: Encoding, dtype: object) -> LevelStorage:
    coo = as_coo(source)
    dims = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    values = coo.data
    if source.format == "bsr":  # zeros within blocks are padding
        stored = np.flatnonzero(is_given(values))
        dims, values = [dim[stored] for dim in dims], values[stored]
    width = max(dim.dtype.itemsize for dim in dims) * 8
    return pack(encoding, source.shape, dims, values, dtype=dtype, source=(width, width))


def to_scipy(tensor: SparseTensor) -> Any:
    """Returns a tensor as a SciPy array (see `SparseTensor.to_scipy`)."""
    import scipy.sparse

    dtype = tensor.type.dtype
    if dtype.is_narrow:
        way_out = f"convert with astype('{dtype.accumulated_in}')"
        raise DTypeError(f"expected an element type that SciPy has, but got {dtype}: {way_out}")
    if is_diagonals(tensor.encoding):
        return dia_to_scipy(tensor, scipy.sparse)
    kind = _scipy_format(tensor)
    if kind is None and is_listed_in_order(tensor):
        columns, values = listed_columns(tensor)
        return _coo(tensor.shape, tuple(columns), values)
    if kind is None:
        dims, values = expand_dims(tensor.storage, tensor.shape)
        dims = [dim if dim.flags.owndata else dim.copy() for dim in dims]
        values = values.copy() if values is tensor.storage.values else values
        return scipy.sparse.coo_array((values, tuple(dims)), shape=tensor.shape)
    return _rows_to_scipy(tensor, scipy.sparse, kind)


def turned_to_scipy(tensor: SparseTensor, kind: str) -> Any:
    """Returns a matrix as SciPy's csr, csc or coo: in one pass where it is by rows, by columns or a list.

    Args:
        tensor: any tensor.
        kind: the format.
    """
    encoding, storage = tensor.encoding, tensor.storage
    narrow = (encoding.pos_width, encoding.crd_width) == (32, 32)  # as SciPy has what 32 bits count
    if not narrow or storage.view or encoding.explicit_val is not None or tensor.type.dtype.is_narrow:
        return getattr(tensor.to_scipy(), f"to{kind}")()
    if is_rows(encoding):
        given = "csr" if encoding.level_order == (0, 1) else "csc"
        if kind == "coo":
            pos, crd, values = storage.buffers()
            listed, copied = _native.list_rows(pos, crd, values, True)
            assert copied is not None  # of values
            pair = listed, crd.copy()
            return _coo(tensor.shape, pair if given == "csr" else pair[::-1], copied, in_order=given == "csr")
        if kind != given:
            return _rows(tensor, kind, _native.transpose(storage.level_sizes[1], *storage.buffers()))
    elif kind != "coo" and is_list_by_rows(encoding):
        lines, named = storage.coordinates
        assert lines is not None and named is not None  # noqa: PT018 - both levels have them
        rows, columns = tensor.shape
        found = _native.rows_of_list(rows, lines, named, storage.values, kind == "csr")
        if kind == "csc":
            found = _native.transpose(columns, found[0], named, storage.values)
        return _rows(tensor, kind, found)
    return getattr(tensor.to_scipy(), f"to{kind}")()


def _rows(tensor: SparseTensor, kind: str, buffers: tuple[Array, Array, Array]) -> Any:
    made = _empty(f"{kind}_array", tensor.shape, tensor.dtype, None)
    made.indptr, made.indices, made.data = buffers
    made.has_canonical_format = True
    return made


def _coo(shape: tuple[int, ...], columns: tuple[Array, ...], values: Array, *, in_order: bool = True) -> Any:
    import scipy.sparse

    if len(shape) == 2 and hasattr(_template("coo_array", shape, values.dtype, None), "coords"):
        made = _empty("coo_array", shape, values.dtype, None)
        made.coords, made.data = columns, values
    else:
        made = scipy.sparse.coo_array((values, columns), shape=shape)
    made.has_canonical_format = in_order
    return made


def format_of(tensor: SparseTensor) -> str:
    """Returns SciPy's name of the format that a tensor becomes."""
    return "dia" if is_diagonals(tensor.encoding) else _scipy_format(tensor) or "coo"


def _scipy_format(tensor: SparseTensor) -> str | None:
    kind, block = _format_and_block(tensor.encoding)
    whole = block is None or all(extent % size == 0 for extent, size in zip(tensor.shape, block, strict=True))
    return kind if whole else None


@fact_of
def _format_and_block(encoding: Encoding) -> tuple[str | None, tuple[int, int] | None]:
    """Returns the format of an encoding's levels, if there is one, and the size of its blocks, which fill a matrix."""
    formats = tuple(kind.format for kind in encoding.level_types)
    if encoding.dim_rank != 2 or formats[:2] != (LevelFormat.DENSE, LevelFormat.COMPRESSED):
        return None, None
    if encoding.is_permutation:
        return "csr" if encoding.level_order == (0, 1) else "csc", None
    block = (encoding.block_of(0), encoding.block_of(1))
    if min(block) == 1 or not same_formats(replace(encoding), as_encoding("BSR", block=block)):
        return None, None
    return "bsr", block


def _rows_to_scipy(tensor: SparseTensor, sparse: Any, kind: str) -> Any:
    storage = tensor.storage
    indptr, indices = _index_pair(storage.positions[1], storage.coordinates[1])
    values = storage.values
    canonical = tensor.encoding.is_ordered and all(level.unique for level in tensor.encoding.level_types)
    if not canonical:  # SciPy sorts such matrices in place, where it must, and would write to this tensor
        indptr, indices, values = (np.array(array) for array in (indptr, indices, values))
    if kind == "bsr":
        block = (tensor.encoding.block_of(0), tensor.encoding.block_of(1))
        result = _empty("bsr_array", tensor.shape, values.dtype, block)
        values = values.reshape(-1, *block)
    else:
        result = _empty(f"{kind}_array", tensor.shape, values.dtype, None)
    # Set attributes one by one: SciPy's constructors would copy 64-bit indices that fit in 32 bits.
    result.indptr, result.indices, result.data = indptr, indices, values
    if canonical:
        result.has_canonical_format = True
    return result


def _empty(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], block: tuple[int, int] | None) -> Any:
    """Returns a new array without entries: SciPy's constructor takes ten times as long as to copy one's attributes."""
    like = _template(name, shape, dtype, block)
    made = object.__new__(type(like))
    made.__dict__.update(like.__dict__)
    return made


@lru_cache(maxsize=64)
def _template(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], block: tuple[int, int] | None) -> Any:
    import scipy.sparse

    asked = {} if block is None else {"blocksize": block}
    made = getattr(scipy.sparse, name)(
        (0, 0), dtype=dtype, **asked
    )  # a template of many rows would keep as many positions
    made._shape = shape
    return made


def _index_pair(positions: Array | None, coordinates: Array | None) -> tuple[Array, Array]:
    """Returns positions and coordinates with one dtype, int32 or int64, as SciPy requires."""
    assert positions is not None
    assert coordinates is not None
    wide = max(positions.dtype.itemsize, coordinates.dtype.itemsize) == 8
    dtype = np.int64 if wide else np.int32
    return positions.astype(dtype, copy=False), coordinates.astype(dtype, copy=False)
