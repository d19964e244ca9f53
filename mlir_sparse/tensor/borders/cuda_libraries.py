"""Sparse tensors of PyTorch and CuPy on a device, to and from DeviceTensor, with shared buffers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from mlir_sparse.device import DeviceArray
from mlir_sparse.dtypes import WIDE_TYPES
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import MissingPackageError, UnsupportedError
from mlir_sparse.process.forks import importing
from mlir_sparse.tensor.borders.foreign_arrays import is_torch_sparse
from mlir_sparse.tensor.convert.convert import same_formats
from mlir_sparse.tensor.device_tensor import DeviceTensor
from mlir_sparse.text.listed_words import listed

__all__ = ["is_device_sparse", "tensor_of", "to_cupy", "to_torch"]


def is_device_sparse(source: object) -> bool:
    """Returns whether an object is a sparse tensor of another library on a device."""
    if is_torch_sparse(source):
        return bool(source.device.type == "cuda")  # type: ignore[attr-defined]
    return _is_cupy_sparse(source)


def _is_cupy_sparse(source: object) -> bool:
    return type(source).__module__.startswith("cupyx.scipy.sparse") and hasattr(source, "get")


def tensor_of(source: Any) -> DeviceTensor:
    """Returns a DeviceTensor on the buffers of another library's sparse tensor, after checking its structure.

    Raises:
        UnsupportedError: for a layout that has no encoding, or that would have to be copied.
    """
    return _of_cupy(source) if _is_cupy_sparse(source) else _of_torch(source)


def _of_torch(source: Any) -> DeviceTensor:
    with importing():
        from mlir_sparse.tensor.borders.torch_sparse import default_torch_encoding  # for tensors of PyTorch only

    kind = default_torch_encoding(source, anywhere=True)
    layout, shape = str(source.layout), tuple(source.shape)
    if layout == "torch.sparse_coo":
        if not source.is_coalesced():
            raise UnsupportedError("expected a coalesced sparse_coo tensor, but got another: pass x.coalesce()")
        columns = list(source._indices())
        first = _pointers(source, columns[0])
        return DeviceTensor.from_levels(
            kind, shape, [first, *[None] * (kind.lvl_rank - 1)], _padded(columns, kind), source._values()
        )
    by_rows = layout in ("torch.sparse_csr", "torch.sparse_bsr")
    position = source.crow_indices() if by_rows else source.ccol_indices()
    coordinate = source.col_indices() if by_rows else source.row_indices()
    if position.ndim != 1:
        raise UnsupportedError("expected one matrix, but got batches: pass them from the host")
    rest = [None] * (kind.lvl_rank - 2)
    return DeviceTensor.from_levels(kind, shape, [None, position, *rest], [None, coordinate, *rest], source.values())


def _padded(columns: list[Any], kind: Encoding) -> list[Any]:
    return [*columns, *[None] * (kind.lvl_rank - len(columns))]


def _pointers(source: Any, column: Any) -> Any:
    """Returns the positions of a list of entries, [0, entries], as an array on their device."""
    return column.new_tensor([0, column.shape[0]])


def _of_cupy(source: Any) -> DeviceTensor:
    shape = tuple(source.shape)
    match source.format:
        case "csr" | "csc":
            if not source.has_canonical_format:
                raise UnsupportedError(
                    "expected sorted entries without duplicates, but got others: pass A.sum_duplicates()"
                )
            return DeviceTensor.from_levels(
                source.format.upper(), shape, [None, source.indptr], [None, source.indices], source.data
            )
        case "coo":
            if not source.has_canonical_format:
                raise UnsupportedError(
                    "expected sorted entries without duplicates, but got others: pass A.sum_duplicates()"
                )
            cupy = importlib.import_module("cupy")
            first = cupy.asarray([0, source.nnz], dtype=source.row.dtype)
            return DeviceTensor.from_levels("SoA-COO", shape, [first, None], [source.row, source.col], source.data)
        case other:
            raise UnsupportedError(f"expected csr, csc or coo of CuPy, but got {other}: pass A.tocsr()")


def to_torch(tensor: DeviceTensor) -> Any:
    """Returns a tensor as PyTorch's (see `DeviceTensor.to_torch`)."""
    torch = _imported("torch", "PyTorch", "torch")
    arrays, name = [_torch_array(torch, array) for array in tensor.storage.buffers()], _layout(tensor)
    values = arrays[-1]
    if name is None:
        raise UnsupportedError(
            f"expected storage that PyTorch has on a device, but got {tensor.encoding.to_text()}: "
            "pass A.to('cpu').to_torch()"
        )
    if name == "SoA-COO":
        indices = torch.stack(arrays[1:-1])
        return torch.sparse_coo_tensor(indices, values, tensor.shape, is_coalesced=True, check_invariants=False)
    if name in ("BSR", "BSC"):
        values = values.reshape(-1, tensor.encoding.block_of(0), tensor.encoding.block_of(1))
    make = getattr(torch, f"sparse_{name.lower()}_tensor")
    return make(arrays[0], arrays[1], values, tensor.shape, check_invariants=False)


def _torch_array(torch: Any, array: DeviceArray) -> Any:
    return torch.from_dlpack(array)


def to_cupy(tensor: DeviceTensor) -> Any:
    """Returns a tensor as a matrix of CuPy's (see `DeviceTensor.to_cupy`)."""
    cupy = _imported("cupy", "CuPy", "cupy-cuda12x")
    sparse = importlib.import_module("cupyx.scipy.sparse")
    name = _layout(tensor)
    if name not in ("CSR", "CSC", "SoA-COO") or tensor.type.dtype not in WIDE_TYPES:
        raise UnsupportedError(
            f"expected csr, csc or coo of {listed(WIDE_TYPES, 'or')} for CuPy, but got {tensor.type}: "
            "pass A.to('cpu').to_scipy()"
        )
    arrays = [cupy.from_dlpack(array) for array in tensor.storage.buffers()]
    if name == "SoA-COO":
        return sparse.coo_matrix((arrays[-1], (arrays[1], arrays[2])), shape=tensor.shape)
    make = sparse.csr_matrix if name == "CSR" else sparse.csc_matrix
    return make((arrays[2], arrays[1], arrays[0]), shape=tensor.shape)


def _layout(tensor: DeviceTensor) -> str | None:
    """Returns the tensor's preset, if PyTorch and CuPy have it."""
    encoding = tensor.encoding
    if encoding.dim_rank != 2 or not encoding.is_ordered or not encoding.level_types[-1].unique:
        return None
    widths = {array.dtype for array in tensor._arrays[:-1]}
    if not widths <= {np.dtype(np.int32), np.dtype(np.int64)} or len(widths) > 1:
        return None
    if encoding.is_permutation:
        names = {name: as_encoding(name) for name in ("CSR", "CSC", "SoA-COO")}
    else:
        block = (encoding.block_of(0), encoding.block_of(1))
        if any(extent % size for extent, size in zip(tensor.shape, block, strict=True)):
            return None
        names = {name: as_encoding(name, block=block) for name in ("BSR", "BSC")}
    return next((name for name, kind in names.items() if same_formats(encoding, kind)), None)


def _imported(module: str, title: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"expected {title} to be installed, but got {error}: pip install {package}") from None
