"""Level storage and subscripts in the form that compiled code takes them.

The calling convention of the sparsifier's code-generation mode: for each level
a memref of positions and one of coordinates where it has them, a memref of
values, and a struct of level sizes and used lengths. A result comes back the
same way.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Returns a number that stands for an element type and an encoding, widths included."""
    key = (dtype.name, encoding)
    with _lock:
        return _ids.setdefault(key, len(_ids))


def operand_of(tensor: SparseTensor) -> _native.Operand:
    """Returns a tensor's storage as a kernel's argument; made once a tensor and kept with it.

    Raises:
        UnsupportedError: for batches and slices, which no kernel takes: plans convert them.
    """
    if tensor._operand is None:
        storage = tensor.storage
        if not is_plain(tensor.encoding):
            raise UnsupportedError(f"expected storage of a whole tensor, but got {tensor.encoding.to_text()}")
        identity = type_id(DType.of(tensor.dtype), tensor.encoding)
        shape = padded_shape(tensor.encoding, tensor.shape)
        check_extents(shape)  # whole blocks may reach beyond what 64 bits hold
        buffers, padded = list(storage.buffers()), shape != tensor.shape
        tensor._operand = _native.Operand(identity, shape, storage.level_sizes, buffers, padded)
    operand: _native.Operand = tensor._operand
    return operand


def padded_shape(encoding: Encoding, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns a shape with each extent rounded up to whole blocks: what loops over the storage run over.

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
    # MLIR zero-extends what it reads; NumPy's signed types are what SciPy and users expect where both agree.
    return np.dtype({8: np.uint8, 16: np.uint16, 32: np.int32, 64: np.int64, 0: np.int64}[width])


def sparse_result(
    encoding: Encoding, shape: tuple[int, ...], level_sizes: tuple[int, ...], buffers: Sequence[np.ndarray[Any, Any]]
) -> SparseTensor:
    """Returns what a kernel computed as a tensor; nothing is copied."""
    return SparseTensor._trusted(encoding, shape, LevelStorage.from_buffers(encoding, level_sizes, tuple(buffers)))
