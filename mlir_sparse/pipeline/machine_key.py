"""What machine code depends on beside the program: the processor, and the compiler that is found."""

from __future__ import annotations

import os
import sys
from functools import cache

from mlir_sparse._mlir import bindings_stamp
from mlir_sparse.pipeline.machine_vectors import _cpu_info
from mlir_sparse.process import settings

__all__ = ["host_text"]

# Of what Linux tells of a processor: what LLVM goes by. The rest changes from one minute to the next.
_KINDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)


def host_text() -> str:
    """Returns what tells this machine and its compiler from others, without loading the compiler."""
    return f"{_processor()}\n{bindings_stamp()}\nlanes {settings.VECTOR_LANES.text}"


@cache
def _processor() -> str:
    info = _cpu_info()
    kinds = "; ".join(f"{kind}: {info[kind]}" for kind in _KINDS if kind in info)
    return f"{sys.platform} {os.uname().machine}\n{kinds}"


# While the package is loaded, so that the first kernel of a process need not wait for it.
host_text()
