"""PyTorch's sparse tensors, to and from SparseTensor; PyTorch is imported only when needed.

| layout | encoding | memory |
|---|---|---|
| `sparse_coo` | SoA-COO, with dense levels below for hybrid tensors | shared when coalesced |
| `sparse_csr`, `sparse_csc` | CSR, CSC, likewise | shared |
| `sparse_bsr`, `sparse_bsc` | BSR, BSC | shared |
| batches of these four | the same below batch levels, as BatchedCSR | copied |
| semi-structured | NV_24 | copied |
| `strided` | as any dense array | shared |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import CoordinatesError, MissingPackageError, OperandError, UnsupportedError
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.borders.foreign_arrays import torch_array
from mlir_sparse.tensor.borders.foreign_parts import Entries, Lines
from mlir_sparse.tensor.borders.listed_entries import side_by_side
from mlir_sparse.tensor.convert.convert import convert_storage, same_formats
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.validate import storage_of_levels

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = [
    "coalesced",
    "default_torch_encoding",
    "import_torch",
    "storage_of_torch",
    "strided_tensor",
    "to_torch",
    "torch_arrays",
]

_INT64 = np.dtype(np.int64)
_ROWS = {"torch.sparse_csr": "CSR", "torch.sparse_bsr": "BSR"}
_MAKERS = {name: f"sparse_{name.lower()}_tensor" for name in ("CSR", "CSC", "BSR", "BSC")}
_COLUMNS = {"torch.sparse_csc": "CSC", "torch.sparse_bsc": "BSC"}


def default_torch_encoding(source: Any, *, anywhere: bool = False) -> Encoding:
    """Returns the encoding of the layout of a sparse tensor, `anywhere` or in host memory.

    Raises:
        UnsupportedError: for dense dimensions in blocks and batches, and undocumented layouts.
        OperandError: for a tensor on a device, and for one that records gradients.
    """
    _check_usable(source, anywhere)
    layout = str(source.layout)
    if layout == "torch.sparse_coo":
        return _coo_encoding(source.sparse_dim(), source.dense_dim())
    name = (_ROWS | _COLUMNS).get(layout)
    if name is None:
        way_out = "x.to_padded_tensor(0.0)" if source.is_nested else "x.to_dense()"
        raise UnsupportedError(f"expected a sparse layout of PyTorch, but got {layout}: pass {way_out}")
    batches = source.ndim - source.dense_dim() - 2
    if batches:
        return _batched(source, name, batches)
    if name in ("BSR", "BSC"):
        _check_no_dense(source)
        return as_encoding(name, block=tuple(source.values().shape[1:3]))
    if not source.dense_dim():
        return as_encoding(name)
    outer, inner = ("d0", "d1") if name == "CSR" else ("d1", "d0")
    return _with_dense([f"{outer} : dense", f"{inner} : compressed"], source.dense_dim())


def _batched(source: Any, name: str, batches: int) -> Encoding:
    """Returns batch levels above a matrix format: PyTorch's layout, whose batches have equally many entries."""
    if source.dense_dim():
        raise UnsupportedError(
            f"expected numbers in batches of matrices, but got {source.dense_dim()} dense dimensions in "
            f"{source.layout}: pass x.to_dense()"
        )
    block = tuple(source.values().shape[-2:]) if name in ("BSR", "BSC") else None
    matrix = as_encoding(name) if block is None else as_encoding(name, block=block)
    dims = [f"d{d}" for d in range(batches + 2)]
    inner = [level.to_text(dims[batches:]) for level in matrix.levels]
    lead = [f"{dim} : batch" for dim in dims[:batches]]
    return as_encoding(f"({', '.join(dims)}) -> ({', '.join([*lead, *inner])})")


def _check_no_dense(source: Any) -> None:
    if source.dense_dim():
        raise UnsupportedError(
            f"expected blocks of numbers, but got {source.dense_dim()} dense dimensions in those of {source.layout}: "
            "pass x.to_dense()"
        )


def _check_usable(source: Any, anywhere: bool) -> None:
    if source.requires_grad:
        raise OperandError("expected a tensor without gradients, but got one that requires grad: pass x.detach()")
    if source.device.type != "cpu" and not anywhere:
        raise OperandError(f"expected a tensor in host memory, but got one on {source.device}: pass x.cpu()")


def _coo_encoding(sparse: int, dense: int) -> Encoding:
    if sparse == 0:
        raise UnsupportedError(
            "expected a sparse dimension or more, but got a sparse_coo tensor without: pass x.to_dense()"
        )
    if not dense:
        return as_encoding("SparseVector" if sparse == 1 else "SoA-COO", rank=sparse)
    levels = ["d0 : compressed(nonunique)" if sparse > 1 else "d0 : compressed"]
    levels += [f"d{d} : singleton(nonunique, soa)" for d in range(1, sparse - 1)]
    levels += [f"d{sparse - 1} : singleton(soa)"] if sparse > 1 else []
    return _with_dense(levels, dense)


def _with_dense(levels: list[str], dense: int) -> Encoding:
    rank = len(levels) + dense
    dims = ", ".join(f"d{d}" for d in range(rank))
    below = [f"d{d} : dense" for d in range(len(levels), rank)]
    return as_encoding(f"({dims}) -> ({', '.join([*levels, *below])})")


def storage_of_torch(source: Any, encoding: Encoding, dtype: object) -> LevelStorage:
    """Returns the storage of a sparse tensor, sharing memory where its layout is the encoding's.

    Raises:
        StorageError: for a tensor that breaks PyTorch's invariants (columns out of order, for one).
    """
    native = default_torch_encoding(source)
    direct = encoding if same_formats(native, encoding) else native
    positions, coordinates, values = _parts(source)
    lead = [None] * batch_depth(direct)
    none = [None] * (direct.lvl_rank - len(positions) - len(lead))
    shape = tuple(source.shape)
    storage, _, _ = storage_of_levels(
        direct, shape, [*lead, *positions, *none], [*lead, *coordinates, *none], values, dtype
    )
    if direct is encoding and storage.encoding.level_types == encoding.level_types:
        return storage
    return convert_storage(storage, shape, encoding)


def torch_arrays(source: Any) -> Entries | Lines | None:
    """Returns the arrays of one matrix in a compressed layout, or of numbers in COO, in host memory.

    None for tensors on a device, or that record gradients. Those that `to_sparse` does not make, such as of batches,
    have arrays of more axes.
    """
    layout = str(source.layout)
    if source.requires_grad or not source.is_cpu:
        return None
    if layout == "torch.sparse_coo":
        return Entries(tuple(source.shape), source._indices().numpy(), torch_array(source._values()))
    if layout in _ROWS:
        name, positions, coordinates = _ROWS[layout], source.crow_indices(), source.col_indices()
    elif layout in _COLUMNS:
        name, positions, coordinates = _COLUMNS[layout], source.ccol_indices(), source.row_indices()
    else:
        return None
    return Lines(name, tuple(source.shape), positions.numpy(), coordinates.numpy(), torch_array(source.values()))


def coalesced(source: Any) -> Any:
    """Returns a tensor in COO with its entries in order, each once.

    Raises:
        CoordinatesError: for coordinates outside of its shape, by which PyTorch would write outside of its memory.
    """
    if source.is_coalesced():
        return source
    places = source.detach()._indices()
    if places.numel():
        least, greatest = places.amin(1).tolist(), places.amax(1).tolist()
        for dim, (low, high, extent) in enumerate(zip(least, greatest, source.shape, strict=False)):
            if low < 0 or high >= extent:
                at = int(places[dim].argmin() if low < 0 else places[dim].argmax())
                raise CoordinatesError(
                    f"expected coordinates from 0 to {extent - 1}, below the size {extent} of dimension {dim}, but got "
                    f"{low if low < 0 else high} at coordinates[{dim}][{at}]"
                )
    return source.coalesce()


def _parts(source: Any) -> tuple[list[Array | None], list[Array | None], Array]:
    """Returns positions and coordinates of the sparse levels, and the values."""
    layout = str(source.layout)
    if layout == "torch.sparse_coo":
        source = coalesced(source)
        columns = list(torch_array(source._indices()))
        positions = [np.array([0, columns[0].size]), *[None] * (len(columns) - 1)]
        return positions, list(columns), torch_array(source._values())
    if layout in _ROWS:
        position, coordinate = source.crow_indices(), source.col_indices()
    else:
        position, coordinate = source.ccol_indices(), source.row_indices()
    return [None, torch_array(position)], [None, torch_array(coordinate)], torch_array(source.values())


def to_torch(tensor: SparseTensor) -> Any:
    """Returns a tensor as PyTorch's (see `SparseTensor.to_torch`)."""
    torch = import_torch()
    encoding = tensor.encoding
    if encoding.is_dense and encoding.is_permutation:
        values = strided_tensor(torch, tensor.storage.values).reshape(tensor.storage.level_sizes)
        return values.permute([encoding.level_order.index(dim) for dim in range(encoding.dim_rank)])
    name, block = _row_format(encoding)
    if name is None:
        return _coo_to_torch(torch, tensor)
    if block == (1, 1):
        return _rows_to_torch(torch, tensor, name, None)
    whole = not any(extent % size for extent, size in zip(tensor.shape, block, strict=True))
    return _rows_to_torch(torch, tensor, name, block) if whole else _coo_to_torch(torch, tensor)


def import_torch() -> Any:
    """Returns the module torch.

    Raises:
        MissingPackageError: without PyTorch.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError(f"expected PyTorch to be installed, but got {error}: pip install torch") from None
    return torch


@fact_of
def _row_format(encoding: Encoding) -> tuple[str | None, tuple[int, int]]:
    """Returns the layout whose levels an encoding has, if there is one, and the size of its blocks."""
    ordered = encoding.is_ordered and all(kind.unique for kind in encoding.level_types)
    if encoding.dim_rank != 2 or not ordered:
        return None, (1, 1)
    block = (encoding.block_of(0), encoding.block_of(1))
    if encoding.is_permutation:
        names = {name: as_encoding(name) for name in ("CSR", "CSC")}
    else:
        names = {name: as_encoding(name, block=block) for name in ("BSR", "BSC")}
    return next((name for name, kind in names.items() if same_formats(encoding, kind)), None), block


def _rows_to_torch(torch: Any, tensor: SparseTensor, name: str, block: tuple[int, int] | None) -> Any:
    storage = tensor.storage
    position, coordinate = storage.positions[1], storage.coordinates[1]
    assert position is not None
    assert coordinate is not None
    if position.dtype != coordinate.dtype or position.itemsize < 4:
        dtype = np.int64 if max(position.itemsize, coordinate.itemsize) == 8 else np.int32
        position, coordinate = position.astype(dtype, copy=False), coordinate.astype(dtype, copy=False)
    values = storage.values if block is None else storage.values.reshape(-1, *block)
    arrays = [strided_tensor(torch, array) for array in (position, coordinate, values)]
    return getattr(torch, _MAKERS[name])(*arrays, tensor.shape, check_invariants=False)


def _coo_to_torch(torch: Any, tensor: SparseTensor) -> Any:
    dims, values = _entries(tensor)
    indices = strided_tensor(torch, np.ascontiguousarray(side_by_side(dims), _INT64))
    stored = strided_tensor(torch, values)
    entries = torch.sparse_coo_tensor(
        indices, stored, tensor.shape, is_coalesced=_is_coalesced(tensor.encoding), check_invariants=False
    )
    return entries.coalesce()


def _entries(tensor: SparseTensor) -> tuple[list[Array], Array]:
    """Returns coordinates by dimension, and values; the stored arrays where they have this form already."""
    if _are_entries(tensor.encoding):
        columns = [column for column in tensor.storage.coordinates if column is not None and column.dtype == _INT64]
        if len(columns) == tensor.ndim:
            return columns, tensor.storage.values
    return expand_dims(tensor.storage, tensor.shape)


@fact_of
def _are_entries(encoding: Encoding) -> bool:
    """Returns whether an encoding's levels are one list of coordinates a dimension, as PyTorch's."""
    return same_formats(encoding, _coo_encoding(encoding.dim_rank, 0))


@fact_of
def _is_coalesced(encoding: Encoding) -> bool:
    """Returns whether entries are in row-major order, without repeats."""
    plain = encoding.is_permutation and encoding.level_order == tuple(range(encoding.dim_rank))
    return plain and encoding.is_ordered and encoding.level_types[-1].unique


def strided_tensor(torch: Any, array: Array) -> Any:
    """Returns an array as a strided tensor on the same memory; PyTorch has no read-only tensors."""
    if array.dtype.isbuiltin != 1:  # no type of NumPy's own: exported as integers
        return strided_tensor(torch, array.view(f"i{array.itemsize}")).view(getattr(torch, array.dtype.name))
    if array.flags.c_contiguous and (open_to_writes := _writeable(array)) is not None:
        try:
            return torch.from_numpy(open_to_writes)  # in a third of the time that it takes by DLPack
        except TypeError:
            pass  # a type that some versions take by DLPack alone
    try:
        return torch.from_dlpack(array)
    except BufferError:  # NumPy before 2.1 does not export read-only memory
        return torch.from_numpy(array.copy())


def _writeable(array: Array) -> Array | None:
    """Returns an array on the same memory that may be written to; None where the memory itself is read-only."""
    if array.flags.writeable:
        return array
    view = array.view()
    try:
        view.flags.writeable = True
    except ValueError:  # of a mapped file, for one
        return None
    return view
