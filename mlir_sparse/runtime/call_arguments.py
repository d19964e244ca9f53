"""Level storage as arguments of compiled functions.

The calling convention of the sparsifier's code-generation mode: for each level a memref of positions and one of
coordinates, if it has them, then a memref of values, and a struct of level sizes and used lengths. A result has the
same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import check_extents, level_buffers
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.forks import Lock
from mlir_sparse.tensor import LevelStorage, SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["buffer_dtypes", "operand_of", "padded_shape", "sparse_result", "type_id"]

_lock = Lock()
_ids: dict[tuple[str, Encoding], int] = {}


def type_id(dtype: DType, encoding: Encoding) -> int:
    """Returns a number that identifies an element type and an encoding with its widths."""
    key = (dtype.name, encoding)
    with _lock:
        return _ids.setdefault(key, len(_ids))


def operand_of(tensor: SparseTensor) -> _native.Operand:
    """Returns a tensor's storage as a kernel's argument, which is cached with the tensor.

    Raises:
        UnsupportedError: for batches and slices, which plans convert before any kernel.
    """
    if tensor._operand is None:
        storage = tensor.storage
        identity, shape = _form(tensor._dtype, tensor.encoding, tensor.shape)
        buffers, padded = list(storage.buffers()), shape != tensor.shape
        tensor._operand = _native.Operand(identity, shape, storage.level_sizes, buffers, padded)
    operand: _native.Operand = tensor._operand
    return operand


@lru_cache(maxsize=1024)
def _form(dtype: DType, encoding: Encoding, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Returns what tensors of a type and a shape have in common: the number of the type, and the padded shape."""
    if not is_plain(encoding):
        raise UnsupportedError(f"expected storage of a whole tensor, but got {encoding.to_text()}")
    padded = padded_shape(encoding, shape)
    check_extents(padded)  # whole blocks may exceed 64 bits
    return type_id(dtype, encoding), padded


def _made(value: SparseTensor) -> _native.Operand | None:
    """Returns the argument for a tensor that is whole; None for others."""
    return operand_of(value) if is_plain(value.encoding) else None


_native.make_operands_by(_made, SparseTensor)


@lru_cache(maxsize=1024)
def padded_shape(encoding: Encoding, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a shape with each extent rounded up to whole blocks, as loops over the storage use it.

    >>> from mlir_sparse.encoding import encoding
    >>> padded_shape(encoding("BSR(2, 4)"), (5, 8))
    (6, 8)
    """
    blocks = [encoding.block_of(dim) for dim in range(len(shape))]
    return tuple(-(-size // block) * block for size, block in zip(shape, blocks, strict=True))


def buffer_dtypes(encoding: Encoding, dtype: DType) -> list[np.dtype[Any]]:
    """Returns the dtype of each buffer of a tensor, in the order of the convention."""
    positions, coordinates = _index_dtype(encoding.pos_width), _index_dtype(encoding.crd_width)
    found = [positions if array.kind == "positions" else coordinates for array in level_buffers(encoding)]
    return [*found, dtype.numpy]


def _index_dtype(width: int) -> np.dtype[Any]:
    # MLIR zero-extends narrow integers. Where signed types mean the same, use them, as SciPy and users expect.
    return np.dtype({8: np.uint8, 16: np.uint16, 32: np.int32, 64: np.int64, 0: np.int64}[width])


def sparse_result(
    encoding: Encoding, shape: tuple[int, ...], level_sizes: tuple[int, ...], buffers: Sequence[np.ndarray[Any, Any]]
) -> SparseTensor:
    """Returns a kernel's result as a tensor, without a copy."""
    return SparseTensor._trusted(encoding, shape, LevelStorage.from_buffers(encoding, level_sizes, tuple(buffers)))
