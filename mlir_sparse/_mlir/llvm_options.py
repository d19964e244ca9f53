"""LLVM's own options, for a process that does nothing but compile."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from pathlib import Path

from mlir_sparse._mlir.provider import bindings

__all__ = ["QUICK", "set_options"]

# Passes that take a tenth of a compilation, without which no kernel runs slower: one makes pointers of an index, which
# x86 adds to each as it reads; the other puts instructions in an order that processors find by themselves.
QUICK = ("-disable-lsr", "-disable-post-ra")


def set_options(options: Sequence[str]) -> bool:
    """Sets options of LLVM for all that this process compiles from now on.

    Args:
        options: as on a command line of LLVM's tools; of those that it does not know it says nothing.

    Returns:
        whether the bindings' library lets its options be set.
    """
    for path in sorted(Path(bindings().path, "_mlir_libs").glob("*CAPI*")):
        with contextlib.suppress(OSError, AttributeError):
            parse = ctypes.CDLL(str(path)).LLVMParseCommandLineOptions
            parse.restype = None
            for option in options:  # one by one: behind one that it does not know none is read
                words = (ctypes.c_char_p * 2)(b"compiler", option.encode())
                parse(ctypes.c_int(2), words, ctypes.c_char_p(b""))
            return True
    return False
