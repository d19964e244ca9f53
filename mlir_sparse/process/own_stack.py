"""Runs what calls deeply on a stack of its own, where a thread has little left of its own.

MLIR's bindings take some 400 KiB at their import and parsers take more the deeper a module is. Threads have what
`threading.stack_size` or a server's setting gives them, which may be 64 KiB: past its end the process is killed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mlir_sparse import _native
from mlir_sparse.errors import UnsupportedError

__all__ = ["deep_calls"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_NEEDED, _OWN = 1 << 20, 8 << 20


def deep_calls(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Makes calls of a function wait for another thread that runs it, where less than 1 MiB of the stack is left.

    Raises:
        UnsupportedError: where the system has no memory for the stack of another thread.
    """

    @functools.wraps(function)
    def call(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        left = _native.stack_left()
        if left >= _NEEDED:
            return function(*given, **named)
        results: list[_Result] = []
        error = _native.run_on_stack(lambda: results.append(function(*given, **named)), _OWN)
        if error:
            raise UnsupportedError(
                f"expected {_NEEDED >> 10} KiB of stack for MLIR, but this thread has {left >> 10} left, and a thread "
                f"of its own was refused ({os.strerror(error)}): call `threading.stack_size({_NEEDED})` before threads "
                f"are started"
            )
        return results[0]

    return call
