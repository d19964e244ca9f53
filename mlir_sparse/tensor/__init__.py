"""Sparse tensors as data: level storage and its invariants, in and out of NumPy, SciPy and files."""

from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.device_tensor import DeviceTensor, to_device
from mlir_sparse.tensor.files import read, write
from mlir_sparse.tensor.levels import level_view
from mlir_sparse.tensor.sparse_tensor import SparseTensor
from mlir_sparse.tensor.storage import LevelStorage

__all__ = ["DeviceTensor", "LevelStorage", "SparseTensor", "level_view", "read", "tensor", "to_device", "write"]
