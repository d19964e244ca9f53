"""Finds MLIR's Python bindings: the only module that names a distribution.

The order is `MLIR_SPARSE_BINDINGS` (a module name), if set, then `mlir` (bindings built with LLVM), `torch_mlir` (PyPI)
and `mlir_finch` (PyPI). Nothing is imported before the first use, so that `import mlir_sparse` stays fast.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType

from mlir_sparse._mlir.held_interrupts import uninterrupted
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import BindingsError
from mlir_sparse.process.forks import cached_property, no_fork
from mlir_sparse.process.settings import BINDINGS

__all__ = ["Bindings", "bindings", "bindings_name", "bindings_stamp"]

CANDIDATES = ("mlir", "torch_mlir", "mlir_finch")
# The distribution of a module, if its name differs.
_DISTRIBUTIONS = {"torch_mlir": "torch-mlir", "mlir_finch": "finch-mlir", "mlir": "mlir-python-bindings"}


@dataclass(frozen=True)
class Bindings:
    """The bindings found.

    Args:
        name: the module they are imported from.
        path: the folder they were found in.
    """

    name: str
    path: str

    @cached_property
    def version(self) -> str:
        """Returns the distribution's version, or "unknown" for a local build."""
        return _version(self.name)

    def module(self, name: str) -> ModuleType:
        """Imports a module of the bindings, such as `ir` or `dialects.linalg`."""
        return _imported(f"{self.name}.{name}")

    @cached_property
    def ir(self) -> ModuleType:
        """Returns the bindings' `ir` module."""
        return self.module("ir")


@cache
def bindings() -> Bindings:
    """Finds MLIR's Python bindings.

    Raises:
        BindingsError: if no candidate can be imported.
    """
    name = bindings_name()
    module = _imported(f"{name}.ir")
    _stamp.cache_clear()  # from now on these are the bindings, whatever sys.path was before
    return Bindings(name, os.path.dirname(module.__file__ or ""))


@cache
def bindings_name() -> str:
    """Returns the name of the bindings' module, without importing anything.

    Raises:
        BindingsError: if no candidate exists.
    """
    asked = BINDINGS.value
    found = next((name for name in ((asked,) if asked else CANDIDATES) if _is_installed(name)), None)
    if found is not None:
        return found
    rule = f"{BINDINGS.name}={asked} to name importable bindings" if asked else f"one of {', '.join(CANDIDATES)}"
    names = (asked,) if asked else CANDIDATES
    in_the_way = [file for name in names if (file := _file_without_bindings(name)) is not None]
    if in_the_way:
        raise BindingsError(
            f"expected {rule}, but got no module `ir` in {', '.join(in_the_way)}, "
            f"which the path to modules has first: rename it, or run from elsewhere"
        )
    raise BindingsError(
        f"expected {rule}, but got none: install MLIR's Python bindings with `pip install torch-mlir`, "
        f"or set {BINDINGS.name} to the module that has them"
    )


def _file_without_bindings(name: str) -> str | None:
    """Returns a file with the name of bindings that would be imported instead of them, or None."""
    spec = _spec_of(name.partition(".")[0], None)
    return None if spec is None else spec.origin


def bindings_stamp() -> str:
    """Returns an identity of the bindings that would be found, from their files, without importing anything."""
    return _stamp(BINDINGS.text)


@cache
def _stamp(asked: str | None) -> str:
    names = (asked,) if asked else CANDIDATES
    return repr([(name, _files(name.partition(".")[0])) for name in names])


def _files(package: str) -> list[tuple[str, int, int]]:
    """Returns paths, times and sizes of the libraries in a package of bindings; none if it does not exist."""
    loaded = sys.modules.get(package)
    try:
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    found: list[tuple[str, int, int]] = []
    for folder in (spec and spec.submodule_search_locations) or ():
        try:
            with os.scandir(os.path.join(folder, "_mlir_libs")) as items:
                stats = [(item.path, item.stat()) for item in items if ".so" in item.name]
        except OSError:
            continue
        found += [(path, about.st_mtime_ns, about.st_size) for path, about in stats]
    return sorted(found)


def _imported(name: str) -> ModuleType:
    """Imports a module without interruption: half an import leaves types that cannot be created again."""
    if name in sys.modules:
        return sys.modules[name]
    with no_fork(), uninterrupted():
        return importlib.import_module(name)


def _is_installed(name: str) -> bool:
    """Returns whether a module has a submodule `ir`; a file that only has the name is not run."""
    path: Iterable[str] | None = None
    found = ""
    for part in f"{name}.ir".split("."):
        found = f"{found}.{part}".lstrip(".")
        spec = _spec_of(found, path)
        if spec is None:
            return False
        path = spec.submodule_search_locations
        if path is None:
            return found == f"{name}.ir"
    return True


def _spec_of(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    if name in sys.modules:
        return sys.modules[name].__spec__
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None if path is None else list(path))
        if spec is not None:
            return spec
    return None


def _version(name: str) -> str:
    from importlib import metadata  # loads email and zipfile, which `import mlir_sparse` can do without

    try:
        return metadata.version(_DISTRIBUTIONS.get(name, name))
    except metadata.PackageNotFoundError:
        return "unknown"
