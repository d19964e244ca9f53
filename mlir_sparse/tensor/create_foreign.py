"""Tensors from other libraries' sparse arrays, which `tensor` takes; few programs have any."""

from __future__ import annotations

from typing import Any

from mlir_sparse.dtypes import DType
from mlir_sparse.tensor.borders.foreign_parts import ForeignParts, storage_of_parts
from mlir_sparse.tensor.borders.known_forms import keep_known, shared_parts
from mlir_sparse.tensor.borders.torch_sparse import default_torch_encoding, storage_of_torch, torch_parts
from mlir_sparse.tensor.create import Asked, from_library
from mlir_sparse.tensor.fill_values import cast_fill, fill_of
from mlir_sparse.tensor.filled_tensor import filled
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["tensor_of_parts", "tensor_of_torch"]


def tensor_of_parts(parts: ForeignParts, as_it_is: bool, asked: Asked) -> Any:
    """Returns the tensor of another library's arrays, a FilledTensor if they have a fill value.

    Args:
        parts: the arrays.
        as_it_is: whether nothing was asked for.
        asked: what was asked for.
    """
    if as_it_is and (made := shared_parts(parts)) is not None:
        return made if parts.fill is None else filled(made, parts.fill)
    made = from_library(parts, lambda parts: parts.encoding, storage_of_parts, asked)
    if as_it_is:
        keep_known(parts, made)
    if parts.fill is None:
        return made
    own = fill_of(parts.fill, DType.of(parts.values.dtype))
    return filled(made, own if asked.dtype is None else cast_fill(own, made.type.dtype))


def tensor_of_torch(source: Any, as_it_is: bool, asked: Asked) -> SparseTensor:
    """Returns the tensor of one of PyTorch's sparse tensors; `as_it_is` if nothing was asked for."""
    parts = torch_parts(source) if as_it_is else None
    if parts is not None and (known := shared_parts(parts)) is not None:
        return known
    made = from_library(source, default_torch_encoding, storage_of_torch, asked)
    if parts is not None:
        keep_known(parts, made)
    return made
