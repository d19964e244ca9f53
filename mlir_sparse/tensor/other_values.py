"""Tensors that share the structure of another, with values of their own; and where each stored value is an element."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import DTypeError, OperandError, StorageError, UnsupportedError
from mlir_sparse.tensor.batch_levels import batch_depth
from mlir_sparse.tensor.convert.coordinates_of import expand_dims
from mlir_sparse.tensor.level_storage import Array, LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.text.given_arguments import shown

__all__ = ["all_are_elements", "value_places", "with_values"]


def with_values(tensor: SparseTensor, values: object) -> SparseTensor:
    """Returns a tensor on the structure of another one (see `SparseTensor.with_values`)."""
    storage = tensor.storage
    if storage.view:
        raise UnsupportedError(
            "expected a tensor with values of its own, but got a slice, which shows some of its parent's: "
            "convert it first, as in A.convert('CSR'), or give values to the parent"
        )
    array = _array(values, storage.values.size)
    if not all_are_elements(tensor):
        _check_beside(tensor, array)
    made = SparseTensor._from_parts(tensor.shape, storage.with_values(array), DType.of(array.dtype))
    made._nse = tensor._nse  # of the structure alone
    return made


def _array(values: object, count: int) -> Array:
    if isinstance(values, SparseTensor):
        raise OperandError("expected an array of values, but got a SparseTensor: pass its storage.values")
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged
        raise OperandError(f"expected numbers as values, but got {shown(values)}: {error}") from None
    if array.dtype.kind not in "biufcV":
        raise DTypeError(f"expected numbers as values, but got {array.dtype}")
    dtype = DType.of(array.dtype.newbyteorder("=")).numpy
    if array.size != count:
        raise StorageError(
            f"expected {count} values, one for each that is stored, but got {array.size} "
            f"(shape {array.shape}): storage.values shows their order"
        )
    return np.ascontiguousarray(array.reshape(-1), dtype=dtype)


def all_are_elements(tensor: SparseTensor) -> bool:
    """Returns whether each stored value is an element for every structure of this storage and shape.

    Others have values at empty slots, in gaps of batches, or in the parts of blocks beyond the last row and column.
    """
    encoding = tensor.encoding
    if not encoding.is_native or batch_depth(encoding) or not _is_tight(encoding):
        return False
    if encoding.is_permutation:
        return True
    blocks = (encoding.block_of(dim) for dim in range(encoding.dim_rank))
    return encoding.is_blocked and all(n % size == 0 for n, size in zip(tensor.shape, blocks, strict=True))


def _is_tight(encoding: Encoding) -> bool:
    return not any("loose" in kind.format.value or "structured" in kind.format.value for kind in encoding.level_types)


def value_places(tensor: SparseTensor) -> tuple[list[Array], Array]:
    """Returns where stored values are elements.

    Returns:
        coordinates by dimension, and the places of their values in `storage.values`, in storage order. Values that are
            no elements (see `all_are_elements`) have none.
    """
    storage = tensor.storage
    numbered = storage.with_values(np.arange(1, storage.values.size + 1))
    dims, numbers = expand_dims(numbered, tensor.shape, padding=True)
    return dims, numbers - 1


def _check_beside(tensor: SparseTensor, values: Array) -> None:
    """Raises StorageError for values where the tensor has no element: loops would read them."""
    _, places = value_places(tensor)
    beside = np.ones(values.size, bool)
    beside[places] = False
    wrong = np.flatnonzero(beside & (values != 0))
    if wrong.size:
        at = int(wrong[0])
        raise StorageError(
            f"expected zeros where {_what(tensor.storage)} has no element of shape {tensor.shape}, but got "
            f"{values[at]} at values[{at}]: set those to zero, as they are in storage.values"
        )


def _what(storage: LevelStorage) -> Any:
    return storage.encoding.map_text()
