"""Sparse tensors as data: level storage and its invariants, in and out of NumPy, SciPy and files."""

from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.device_tensor import DeviceTensor, to_device
from mlir_sparse.tensor.files.read_write import read, write
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.level_view import level_view
from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = [
    "DeviceTensor",
    "LevelStorage",
    "SparseTensor",
    "level_view",
    "read",
    "tensor",
    "to_device",
    "write",
]
