"""Sparse tensors as data.

`create` makes a `SparseTensor` of entries, arrays and other libraries' tensors (`borders/`) or files (`files/`).
`convert/` packs entries into level storage and goes from one encoding to another. `validate` checks storage that a
caller built. `sketch_of` counts how entries spread, for estimates. `device_tensor` is the same in device
memory; `draw/` shows storage.
"""

from typing import TYPE_CHECKING

from mlir_sparse.process.first_use import at_first_use
from mlir_sparse.tensor.create import tensor
from mlir_sparse.tensor.filled_tensor import FilledTensor
from mlir_sparse.tensor.level_storage import LevelStorage
from mlir_sparse.tensor.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.device_tensor import DeviceTensor, to_device
    from mlir_sparse.tensor.files.read_write import read, write
else:
    __getattr__ = at_first_use(
        __name__, {"device_tensor": ("DeviceTensor", "to_device"), "files.read_write": ("read", "write")}
    )

__all__ = [
    "DeviceTensor",
    "FilledTensor",
    "LevelStorage",
    "SparseTensor",
    "read",
    "tensor",
    "to_device",
    "write",
]
