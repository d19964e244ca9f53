"""The libraries that tensors go out to: imported when a user asks for one, and what most of them have, CSR and CSC."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import MissingPackageError
from mlir_sparse.tensor.convert.convert import serves_as
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["imported", "index_pair"]

_FORMATS = {name: as_encoding(name) for name in ("CSR", "CSC")}


def imported(module: str, title: str, package: str) -> Any:
    """Returns a module of a library.

    Raises:
        MissingPackageError: without the library.
    """
    found = sys.modules.get(module)
    half_done = getattr(getattr(found, "__spec__", None), "_initializing", False)  # another thread imports it
    if found is not None and not half_done:
        return found
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"expected {title} to be installed, but got {error}: pip install {package}") from None


def index_pair(tensor: SparseTensor) -> tuple[str, Array, Array] | None:
    """Returns the format, positions and coordinates of CSR or CSC, both in 32 or in 64 bits; None for other storage.

    Entries out of order or repeated are other storage.
    """
    name = _format_of(tensor.encoding)
    positions, coordinates = tensor.storage.positions[-1], tensor.storage.coordinates[-1]
    if name is None or tensor.storage.view or positions is None or coordinates is None:
        return None
    wide = max(positions.dtype.itemsize, coordinates.dtype.itemsize) == 8
    dtype = np.int64 if wide else np.int32
    return name, positions.astype(dtype, copy=False), coordinates.astype(dtype, copy=False)


@lru_cache(maxsize=256)
def _format_of(encoding: Encoding) -> str | None:
    return next((name for name, kind in _FORMATS.items() if serves_as(encoding, kind)), None)
