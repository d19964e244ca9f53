"""Tensors that are no data: they are made where data is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["VirtualTensor"]


class VirtualTensor(ABC):
    """A tensor that is made when it is asked for: all that takes tensors takes it too."""

    @abstractmethod
    def made(self) -> Array | SparseTensor:
        """Returns the tensor as data."""
