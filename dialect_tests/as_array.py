"""What an expression gave, in whichever form, as an array of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import mlir_sparse as ms

__all__ = ["as_array"]


def as_array(found: Any) -> np.ndarray[Any, Any]:
    """Returns a tensor's elements, or the array or number that is no tensor."""
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)
