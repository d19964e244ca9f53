"""What machines may lack that tests need, and what is said of it where they are skipped: one text for each."""

from __future__ import annotations

import os
import platform
import shutil
import sys

import pytest

from mlir_sparse import _native

__all__ = ["CONTEXTS", "HAS_CONTEXTS", "LLVMLITE", "PTXAS", "TORCH", "needs_fork", "needs_objects", "needs_ptxas"]

CONTEXTS = "threads are emulated by contexts of Linux's C library"
LLVMLITE = "expected llvmlite for PTX (extra gpu)"
PTXAS = "no ptxas to take PTX"
TORCH = "expected PyTorch (pip install torch)"

HAS_CONTEXTS = (sys.platform, platform.machine()) in (("linux", "x86_64"), ("linux", "aarch64"))

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
needs_objects = pytest.mark.skipif(not _native.loads_objects, reason="objects are loaded on Linux, x86-64 and arm64")
needs_ptxas = pytest.mark.skipif(shutil.which("ptxas") is None, reason=PTXAS)
