"""LLVM's own options, for a process that only compiles."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence

from mlir_sparse._mlir.provider import bindings

__all__ = ["QUICK", "set_options"]

# Passes that take a tenth of a compilation and make no kernel faster: one turns indices into pointers, which x86 adds
# when it loads; the other orders instructions, which processors do themselves.
QUICK = ("-disable-lsr", "-disable-post-ra")


def set_options(options: Sequence[str]) -> bool:
    """Sets options of LLVM for all later compilations of this process.

    Args:
        options: options of LLVM's command line; unknown ones are ignored.

    Returns:
        whether the bindings' library has settable options.
    """
    folder = os.path.join(bindings().path, "_mlir_libs")
    for name in sorted(name for name in os.listdir(folder) if "CAPI" in name):
        with contextlib.suppress(OSError, AttributeError):
            parse = ctypes.CDLL(os.path.join(folder, name)).LLVMParseCommandLineOptions
            parse.restype = None
            for option in options:  # one by one: LLVM stops at an unknown one
                words = (ctypes.c_char_p * 2)(b"compiler", option.encode())
                parse(ctypes.c_int(2), words, ctypes.c_char_p(b""))
            return True
    return False
