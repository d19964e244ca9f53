"""The part of a cache key besides the program: the processor, and the compiler found."""

from __future__ import annotations

import os
import sys
from functools import cache

from mlir_sparse._mlir import bindings_stamp
from mlir_sparse.machine import cpu_info
from mlir_sparse.process import settings

__all__ = ["host_text"]

# The fields of /proc/cpuinfo that LLVM depends on; others change all the time.
_KINDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)


def host_text() -> str:
    """Returns an identity of this machine and its compiler, without loading the compiler."""
    return f"{_processor()}\n{bindings_stamp()}\nlanes {settings.VECTOR_LANES.text}"


@cache
def _processor() -> str:
    info = cpu_info()
    kinds = "; ".join(f"{kind}: {info[kind]}" for kind in _KINDS if kind in info)
    return f"{sys.platform} {os.uname().machine}\n{kinds}"


# Computed while the package is loaded, so that the first kernel does not wait for it.
host_text()
