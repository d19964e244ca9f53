"""The threads of this package's kernels, listed and limited by threadpoolctl.

`threadpoolctl.threadpool_info()` has a row of this package, and `threadpool_limits` holds its calls too, whichever of
the two is imported first. threadpoolctl is not imported for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlir_sparse.process.forks import importing

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["list_in_threadpoolctl"]

_NAME = "threadpoolctl"


def list_in_threadpoolctl() -> None:
    """Registers this package's threads with threadpoolctl, now or when that is imported."""
    known = sys.modules.get(_NAME)
    if known is not None:
        _register(known)
    elif not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


class _WhenImported:
    """Registers with threadpoolctl as soon as somebody imports it: a finder of modules, asked before others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how threadpoolctl is found otherwise, with the registration behind it; None for other modules."""
        if fullname != _NAME:
            return None
        with importing():
            from importlib.util import find_spec  # most processes never ask for threadpoolctl

        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)  # it may be installed later
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _register(module)

        loader.exec_module = exec_module
        return spec


def _register(threadpoolctl: Any) -> None:
    """Registers a controller; versions of threadpoolctl before 3.3 know none of others."""
    controller, register = (getattr(threadpoolctl, name, None) for name in ("LibController", "register"))
    if controller is not None and register is not None:
        register(_controller_of(controller))


def _controller_of(base: Any) -> type:
    """Returns the class by which threadpoolctl asks for threads."""
    from mlir_sparse import _native as library

    class MlirSparseController(base):  # type: ignore[misc]
        """Threads of this package's kernels, conversions and files."""

        user_api = "mlir_sparse"
        internal_api = "mlir_sparse"
        # Other packages have modules of this name, too: what is found is this package's, whoever's file it is.
        filename_prefixes = ("_native.",)

        def __init__(self, *, filepath: str | None = None, prefix: str | None = None, parent: Any = None) -> None:
            super().__init__(filepath=library.__file__, prefix=prefix, parent=parent)

        def get_version(self) -> str:
            """Returns the version of this package."""
            return library.__version__

        def get_num_threads(self) -> int:
            """Returns the greatest number of threads in a call."""
            return library.thread_limit()

        def set_num_threads(self, num_threads: int) -> None:
            """Sets the greatest number of threads in a call."""
            library.set_thread_limit(num_threads)

    return MlirSparseController
