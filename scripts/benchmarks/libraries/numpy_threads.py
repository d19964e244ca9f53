"""The threads of the BLAS that NumPy has."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["set_blas_threads"]


def _blas() -> Callable[[int], None]:
    """Returns what sets the threads of NumPy's BLAS, which asks the environment only when it is loaded."""
    folder = Path(np.__file__).parents[1] / "numpy.libs"
    for path in folder.glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
            if hasattr(library, name):
                return getattr(library, name)  # type: ignore[no-any-return]
    return lambda number: None  # another BLAS: as its environment says


_set = _blas()


def set_blas_threads(number: int) -> None:
    """Sets the number for the process."""
    _set(number)
