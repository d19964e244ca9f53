"""JAX' sparse arrays: BCOO and BCSR.

Without batches their arrays are shared: BCOO is COO, with dense levels below for dense dimensions, BCSR is CSR. Batches
become coordinates. JAX pads lists of entries with coordinates out of range, which mean no entry; they are left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import DTypeError, OperandError
from mlir_sparse.tensor.borders.foreign_parts import Entries, ForeignParts, Given, Lines
from mlir_sparse.tensor.borders.imported_library import imported, index_pair
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["jax_of", "jax_parts"]


def jax_parts(source: Any) -> Given:
    """Returns the arrays of a BCOO or BCSR in host memory.

    Raises:
        OperandError: for arrays on a device, and for those of a function that JAX traces.
    """
    values, indices = _host(source.data), _host(source.indices)
    if hasattr(source, "indptr"):
        return _rows(source, _host(source.indptr), indices, values)
    if source.n_batch:
        return _batched(source, indices, values)
    if not source.n_dense:
        return Entries(source.shape, indices, values, interleaved=True, bounded=False)
    indices, values = _unpadded(indices, values, source.shape)
    return _hybrid(source.shape, list(indices.T), values)


def _host(array: Any) -> Array:
    if not hasattr(array, "devices"):
        return np.asarray(array)
    try:
        where = {device.platform for device in array.devices()}
        if where == {"cpu"}:
            return np.asarray(array)
    except Exception as error:  # JAX' own, of arrays that are traced or deleted
        raise OperandError(
            f"expected arrays of numbers in JAX' sparse array, but got {type(array).__name__}: call outside of jit"
        ) from error
    raise OperandError(
        f"expected an array in host memory, but got JAX' on {min(where)}: pass jax.device_put(x, jax.devices('cpu')[0])"
    )


def _unpadded(indices: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    inside = (indices < np.array(shape[: indices.shape[1]], np.int64)).all(axis=1)
    return (indices, values) if inside.all() else (indices[inside], values[inside])


def _hybrid(shape: tuple[int, ...], dims: list[Array], values: Array) -> ForeignParts:
    names = [f"d{d}" for d in range(len(shape))]
    last = len(dims) - 1
    kinds = ["compressed" if last == 0 else "compressed(nonunique)"] if dims else []
    kinds += ["singleton(nonunique)"] * (last - 1) + ["singleton"] * (last > 0)
    kinds += ["dense"] * (len(shape) - len(dims))
    levels = ", ".join(f"{name} : {kind}" for name, kind in zip(names, kinds, strict=True))
    kind = as_encoding(f"({', '.join(names)}) -> ({levels})")
    if not dims:  # entries that are whole arrays, of which there may be several, or none
        whole = np.add.reduce(values, axis=0, dtype=values.dtype)
        return ForeignParts(kind, tuple(shape), (None,) * len(shape), (None,) * len(shape), whole)
    order = np.lexsort(dims[::-1])
    moved = order.size > 1 and bool((np.diff(order) != 1).any())
    columns = [dim[order] for dim in dims] if moved else dims
    stored = values[order] if moved else values
    same = np.logical_and.reduce([np.diff(column) == 0 for column in columns])
    if same.any():
        starts = np.flatnonzero(np.r_[True, ~same])
        stored = np.add.reduceat(stored, starts, axis=0, dtype=stored.dtype)  # sums of small integers are wider else
        columns = [column[starts] for column in columns]
    first = np.array([0, len(stored)], columns[0].dtype)
    none = [None] * (len(shape) - len(dims))
    positions = (first, *[None] * (len(shape) - 1))
    return ForeignParts(kind, tuple(shape), positions, (*columns, *none), stored)


def _batched(source: Any, indices: Array, values: Array) -> Given:
    """Returns the entries of all batches; JAX has one list for each, or one for all where an axis has extent 1."""
    batches, rest = source.shape[: source.n_batch], source.shape[source.n_batch :]
    indices = np.broadcast_to(indices, (*batches, *indices.shape[source.n_batch :]))
    values = np.broadcast_to(values, (*batches, *values.shape[source.n_batch :]))
    lead = np.indices((*batches, indices.shape[-2])).reshape(source.n_batch + 1, -1)[:-1]
    count = math.prod(indices.shape[:-1])
    columns, stored = (
        indices.reshape(count, indices.shape[-1]),
        values.reshape(count, *values.shape[source.n_batch + 1 :]),
    )
    inside = (columns < np.array(rest[: columns.shape[1]], np.int64)).all(axis=1)
    dims = [*(column[inside] for column in lead), *columns[inside].T.astype(np.int64)]
    stored = stored[inside]
    if source.n_dense:
        return _hybrid(source.shape, dims, stored)
    return Entries(source.shape, tuple(dims), stored)


def _rows(source: Any, positions: Array, coordinates: Array, values: Array) -> Given:
    if not source.n_batch and not source.n_dense:
        return Lines("CSR", source.shape, positions, coordinates, values)
    count = source.shape[source.n_batch]
    flat = positions.reshape(-1, count + 1)
    rows = np.zeros((len(flat), coordinates.shape[-1]), np.int64) + count  # beyond the last row: no entry
    for batch, begins in enumerate(flat):
        rows[batch, : begins[-1]] = np.repeat(np.arange(count), np.diff(begins))
    indices = np.stack([rows.reshape(coordinates.shape), coordinates], axis=-1)
    if source.n_batch:
        return _batched(source, indices, values)
    return _hybrid(source.shape, list(indices[: flat[0, -1]].T), values[: flat[0, -1]])


def jax_of(tensor: SparseTensor) -> Any:
    """Returns a tensor as BCSR of CSR, else as BCOO.

    Raises:
        DTypeError: for an element type that JAX would narrow, as it does with 64 bits unless told otherwise.
    """
    jax = imported("jax", "JAX", "jax")
    sparse = imported("jax.experimental.sparse", "JAX", "jax")
    kept = jax.dtypes.canonicalize_dtype(tensor.dtype)
    if kept != tensor.dtype:
        raise DTypeError(
            f"expected an element type that JAX keeps, but got {tensor.dtype}, of which it makes {kept}: "
            "jax.config.update('jax_enable_x64', True), or convert with astype"
        )
    pair = index_pair(tensor)
    if pair is not None and pair[0] == "CSR":
        # BCSR and BCOO make JAX' arrays of NumPy's; of JAX' own they take as long again.
        rows = (tensor.storage.values, _narrow(jax, pair[2]), _narrow(jax, pair[1]))
        return sparse.BCSR(rows, shape=tensor.shape, indices_sorted=True, unique_indices=True)
    coordinates, stored = listed_entries(tensor)
    indices = _narrow(jax, np.ascontiguousarray(coordinates.T))
    return sparse.BCOO((stored, indices), shape=tensor.shape, indices_sorted=True, unique_indices=True)


def _narrow(jax: Any, indices: Array) -> Array:
    """Returns indices in the width that JAX keeps."""
    if jax.config.jax_enable_x64 or indices.dtype.itemsize < 8:
        return indices
    if indices.size and indices.max() > np.iinfo(np.int32).max:
        raise DTypeError(
            f"expected coordinates of 32 bits for JAX, but got {indices.max()}: "
            "jax.config.update('jax_enable_x64', True)"
        )
    return indices.astype(np.int32)
