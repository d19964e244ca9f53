"""Interpreters of one process: the package works in the main one only."""

from __future__ import annotations

import ctypes

__all__ = ["require_main_interpreter"]


def require_main_interpreter() -> None:
    """Refuses a sub-interpreter, before native modules are loaded, which would deadlock there.

    Raises:
        ImportError: in any interpreter of a process but the main one.
    """
    current, main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
    current.restype = main.restype = ctypes.c_void_p
    if current() != main():
        raise ImportError(
            "expected the main interpreter of a process to import mlir_sparse, but got a sub-interpreter, which its "
            "native modules do not serve: import it in the main one (with mod_wsgi: WSGIApplicationGroup %{GLOBAL}), "
            "or in a process of its own"
        )
