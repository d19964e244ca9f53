"""Finds and opens CUDA's libraries: those of the system's loader, or those in packages beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from mlir_sparse import _cuda

__all__ = ["DRIVER", "SPARSE", "STRUCTURED", "candidates", "load_driver", "load_sparse", "load_structured"]

DRIVER = ("libcuda.so.1",)
SPARSE = ("libcusparse.so.12", "libcusparse.so")
STRUCTURED = ("libcusparseLt.so.0", "libcusparseLt.so")

# Folders of NVIDIA's and PyTorch's packages on PyPI, below a folder of `sys.path`, and of toolkits.
_PACKAGED = ("nvidia/*/lib", "torch/lib")
_INSTALLED = ("/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib")


def candidates(names: tuple[str, ...]) -> list[str]:
    """Returns names and paths of a library in the order to try: the name, for the system's loader, then paths."""
    paths = (os.path.join(folder, name) for folder in _folders() for name in names)
    return [*names, *filter(os.path.exists, paths)]


def _folders() -> Iterator[str]:
    import glob  # few programs have a GPU

    for entry in dict.fromkeys(sys.path):
        for pattern in _PACKAGED:
            yield from sorted(glob.glob(os.path.join(glob.escape(entry), pattern))) if entry else ()
    for pattern in _INSTALLED:
        yield from sorted(glob.glob(pattern), reverse=True)


def load_driver() -> None:
    """Opens the driver.

    Raises:
        DeviceError: without one, or when it does not start.
    """
    if not _cuda.has_driver():
        _cuda.load_driver(list(DRIVER))


def load_sparse() -> None:
    """Opens cuSPARSE.

    Raises:
        DeviceError: without it.
    """
    load_driver()
    if not _cuda.has_sparse():
        _cuda.load_sparse(candidates(SPARSE))


def load_structured() -> None:
    """Opens cuSPARSELt.

    Raises:
        DeviceError: without it.
    """
    load_driver()
    if not _cuda.has_structured():
        _cuda.load_structured(candidates(STRUCTURED))
