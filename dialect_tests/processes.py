"""Processes of tests, and their compilers: forks of one that has loaded the package, where a test is not about loading.

A new interpreter takes half a second to import the package, and a compiler as long to load MLIR.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache

from served import Programs

from dialect_tests import crossing

__all__ = ["python_of_forks"]

_STARTED = "DIALECT_TESTS_PYTHON"
_SANITIZED = "MLIR_SPARSE_NATIVE"  # names the build that `scripts/sanitize` makes


@cache
def python_of_forks() -> str:
    """Returns the path of a Python that has loaded the package, and MLIR, before it reads `-c` or `-m`.

    It is that of the process that started this one, if there is one. Its compilers answer equal requests once, but in
    the whole run. Under sanitizers it is the interpreter itself: a child does not get the threads of ThreadSanitizer.
    """
    if _SANITIZED in os.environ:
        return sys.executable
    if _STARTED not in os.environ:
        programs = Programs(keeps=not crossing.is_whole())
        atexit.register(programs.end)
        os.environ[_STARTED] = programs.python()
    return os.environ[_STARTED]
