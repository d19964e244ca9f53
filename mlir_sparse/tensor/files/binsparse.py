"""Binsparse files in HDF5, through the package `binsparse` (https://graphblas.org/binsparse-specification).

A file names its levels, as an encoding does: `dense`, and `sparse` of one dimension (a compressed level) or more (a COO
region). Tensors with such levels are written unchanged; other formats are written as COO.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.disk import refusing
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import FileFormatError, MissingPackageError, StorageError
from mlir_sparse.tensor.borders.dense_arrays import array_of
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.tensor.create import from_entries, tensor
from mlir_sparse.tensor.fill_values import fill_of, is_zero_fill
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.shortened import shortened

__all__ = ["is_binsparse", "read_binsparse", "write_binsparse"]

_LISTS = {1: "SparseVector"}
_SUFFIXES = (".bsp", ".bsp.h5", ".bsp.hdf5")


def is_binsparse(name: str) -> bool:
    """Returns whether a file's name has an ending of Binsparse.

    >>> is_binsparse("A.bsp.h5"), is_binsparse("A.h5")
    (True, False)
    """
    return name.lower().endswith(_SUFFIXES)


def _packages(name: str) -> tuple[Any, Any]:
    try:
        import binsparse
        import h5py
    except ImportError as error:
        raise MissingPackageError(
            f"{name}: expected the package binsparse for this file, but got {error}: "
            "pip install 'mlir-sparse[binsparse]', or use a .mtx, .ttx or .tns file"
        ) from None
    return binsparse, h5py


def read_binsparse(
    name: str, encoding: str | Encoding | None, dtype: Any, parameters: dict[str, Any]
) -> SparseTensor | Array:
    """Returns the tensor of a file, by default with the file's levels.

    Raises:
        FileFormatError: for a file that is not Binsparse, or contradicts its stored description.
        UnsupportedError: for a fill value beside levels that end dense.
        MissingPackageError: without the package binsparse.
    """
    binsparse, h5py = _packages(name)
    with open(name, "rb"):  # raises OSError for a missing file, which is no broken file
        pass
    with refusing(name, "a Binsparse file in HDF5"):
        found = _parsed(binsparse, h5py, name)
        parts = _Parts.of(found)
        if not found.fill or is_zero_fill(fill_of(found.fill_value, DType.of(parts.values.dtype))):
            return _tensor_of(name, found, parts, encoding, dtype, parameters)
        given = _tensor_of(name, found, parts, None, None, {})
        if isinstance(given, SparseTensor):
            given = given.with_fill(found.fill_value)  # an array stores all of its elements
        return tensor(given, encoding, dtype=dtype, **parameters) if encoding or dtype or parameters else given


def _parsed(binsparse: Any, h5py: Any, name: str) -> Any:
    try:
        with h5py.File(name, "r") as file:
            return binsparse.BinsparseTensor.parse(binsparse.HDF5BinsparseContainer(file), alias=False)
    except (binsparse.BinsparseParseError, KeyError, OSError, TypeError, ValueError) as error:
        got = shortened(str(error))
        raise FileFormatError(f"{name}: expected a Binsparse file in HDF5, but got {got}") from error


@dataclass(slots=True)
class _Parts:
    """A file's levels as levels of an encoding."""

    kinds: list[str] = field(default_factory=list)
    positions: list[Array | None] = field(default_factory=list)
    coordinates: list[Array | None] = field(default_factory=list)
    values: Array = field(default_factory=lambda: np.empty(0))

    @staticmethod
    def of(found: Any) -> _Parts:
        parts, level = _Parts(), found.level
        while not hasattr(level, "values"):
            indices = getattr(level, "indices", ())
            if indices:
                parts._sparse(indices, level.pointers_to_next)
            else:
                parts._add("dense", None, None, level.rank)
            level = level.level
        parts.values = np.asarray(level.values)
        return parts

    def _sparse(self, indices: tuple[Any, ...], pointers: Any) -> None:
        last = len(indices) - 1
        for at, column in enumerate(indices):
            kind = "singleton" if at else "compressed"
            position = None if at else _root(column) if pointers is None else np.asarray(pointers)
            self._add(kind if at == last else f"{kind}(nonunique)", position, np.asarray(column))

    def _add(self, kind: str, position: Array | None, coordinate: Array | None, count: int = 1) -> None:
        self.kinds += [kind] * count
        self.positions += [position] * count
        self.coordinates += [coordinate] * count

    def encoding(self, order: tuple[int, ...]) -> Encoding:
        dims = ", ".join(f"d{d}" for d in range(len(order)))
        levels = ", ".join(f"d{d} : {kind}" for d, kind in zip(order, self.kinds, strict=True))
        return as_encoding(f"({dims}) -> ({levels})")


def _root(column: Array) -> Array:
    """Returns the positions of an outermost level, which files omit, in the width of its coordinates."""
    return np.array([0, column.size], np.int64 if column.itemsize == 8 else np.int32)


def _tensor_of(
    name: str, found: Any, parts: _Parts, encoding: str | Encoding | None, dtype: Any, parameters: dict[str, Any]
) -> SparseTensor | Array:
    order = found.transpose or tuple(range(len(found.shape)))
    stored = parts.encoding(order)
    values = parts.values
    if len(found.level.indices if hasattr(found.level, "indices") else ()) == len(order) > 1:
        # A COO of all dimensions may be in any order.
        dims = [np.asarray(found.level.indices[order.index(d)]) for d in range(len(order))]
        wanted = stored if encoding is None and "block" not in parameters else encoding
        return from_entries(dims, values, found.shape, wanted, dtype=dtype, parameters=parameters)
    try:
        result = SparseTensor.from_levels(stored, found.shape, parts.positions, parts.coordinates, values, dtype=dtype)
    except StorageError as error:
        raise FileFormatError(f"{name}: {error.message}") from error
    if encoding is None and not parameters:
        return result.to_numpy() if stored.is_dense else result
    return tensor(result, encoding, **parameters)


def write_binsparse(name: str, target: str, source: Any, comment: str) -> None:
    """Writes a tensor, an array or a number."""
    binsparse, h5py = _packages(name)
    if is_sparse_source(source):
        source = tensor(source)
    filling: dict[str, Any] = {}
    if isinstance(source, FilledTensor):
        source = _in_file_type(source, source.stored.type.dtype)
        source = source if _has_file_levels(source.encoding) else source.convert(_LISTS.get(source.ndim, "COO"))
        filling, source = {"fill": True, "fill_value": source.fill_value}, source.stored
    written = _writable(source)
    order = written.encoding.level_order
    transpose = None if order == tuple(range(written.ndim)) else order
    level = _levels(binsparse, written)
    count = written.storage.values.size
    custom = binsparse.CustomTensor(written.shape, count, level=level, transpose=transpose, **filling)
    with h5py.File(target, "w") as file:
        custom.serialize(binsparse.HDF5BinsparseContainer(file), alias=True)
        if comment:
            file.attrs["comment"] = comment


def _writable(source: Any) -> SparseTensor:
    """Returns a tensor with levels and an element type that the format has."""
    if not isinstance(source, SparseTensor):
        source = tensor(np.atleast_1d(array_of(source, "a tensor or an array to write")), "dense")
    source = _in_file_type(source, source.type.dtype)
    written: SparseTensor = source if _has_file_levels(source.encoding) else source.convert("COO")
    return written


def _in_file_type(source: Any, dtype: DType) -> Any:
    """Returns a tensor in an element type that files have."""
    return source.astype(dtype.accumulated_in) if dtype.is_narrow else source


def _has_file_levels(encoding: Encoding) -> bool:
    if (
        encoding.has_slices
        or not encoding.is_permutation
        or not encoding.is_ordered
        or encoding.foreign_reason is not None
    ):
        return False
    kinds = encoding.level_types
    levels = [kind.functions for kind in kinds]
    if not all(f.has_full_loop or f.is_chained or (f.is_segmented and not f.has_gaps) for f in levels):
        return False
    # Coordinates may repeat only above a singleton: elsewhere an entry would be stored twice.
    below = [*(f.is_chained for f in levels[1:]), False]
    return all(kind.unique or is_chained for kind, is_chained in zip(kinds, below, strict=True))


def _levels(binsparse: Any, tensor: SparseTensor) -> Any:
    """Returns the file's levels, built from the innermost outwards."""
    storage = tensor.storage
    level: Any = binsparse.ElementLevel(storage.values)
    for start, stop in reversed(list(_segments(tensor.encoding))):
        if storage.coordinates[start] is None:
            level = binsparse.DenseLevel(1, level)
            continue
        indices = tuple(np.ascontiguousarray(storage.coordinates[at]) for at in range(start, stop))
        pointers = storage.positions[start] if start else None
        level = binsparse.SparseLevel(stop - start, level, indices, pointers)
    return level


def _segments(encoding: Encoding) -> Iterator[tuple[int, int]]:
    """Yields the range of encoding levels in each level of the file: a singleton belongs to the level above it."""
    starts = [at for at, kind in enumerate(encoding.level_types) if not kind.functions.is_chained]
    yield from zip(starts, [*starts[1:], encoding.lvl_rank], strict=True)
