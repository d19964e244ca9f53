"""TensorFlow's SparseTensor: a list of coordinates, shared in host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import OperandError
from mlir_sparse.tensor.borders.foreign_parts import Entries
from mlir_sparse.tensor.borders.imported_library import imported
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["tensorflow_of", "tensorflow_parts"]


def tensorflow_parts(source: Any) -> Entries:
    """Returns the arrays of a SparseTensor.

    Raises:
        OperandError: for one on a device, and for one of a function that TensorFlow traces.
    """
    indices, values, shape = map(_host, (source.indices, source.values, source.dense_shape))
    return Entries(tuple(shape.tolist()), indices, values, interleaved=True)


def _host(array: Any) -> Array:
    if not hasattr(array, "numpy"):
        raise OperandError(
            "expected numbers in TensorFlow's sparse tensor, but got a symbol: call outside of tf.function"
        )
    device = getattr(array, "device", "") or ""
    if "GPU" in device.upper():
        raise OperandError(f"expected a tensor in host memory, but got TensorFlow's on {device}: copy it to the CPU")
    found: Array = np.asarray(array.numpy())
    return found


def tensorflow_of(tensor: SparseTensor) -> Any:
    """Returns a tensor as a SparseTensor, in row-major order."""
    tensorflow = imported("tensorflow", "TensorFlow", "tensorflow")
    coordinates, values = listed_entries(tensor)
    indices = np.ascontiguousarray(coordinates.T, np.int64)
    return tensorflow.SparseTensor(indices, values, np.array(tensor.shape, np.int64))
