"""Finds MLIR's Python bindings: the only module that names a distribution.

The order is `MLIR_SPARSE_BINDINGS` (a module name, dotted or not), if set, then `mlir` (bindings built with LLVM),
`torch_mlir` (PyPI) and `mlir_finch` (PyPI). The compiler's process probes what was found before its first answer. Where
there is a choice, or only bindings that few use, a probe decides before anything of them is loaded here. Nothing is
imported before the first use, so that `import mlir_sparse` stays fast.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import BindingsError
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.process.forks import cached_property, importing, no_fork
from mlir_sparse.process.own_stack import deep_calls
from mlir_sparse.process.settings import BINDINGS

if TYPE_CHECKING:
    from mlir_sparse._mlir.bindings_files import file_in_the_way, is_installed, libraries_in, libraries_of
    from mlir_sparse._mlir.held_interrupts import uninterrupted
else:
    import_at_first_call(
        __name__,
        {
            "_mlir.bindings_files": ("file_in_the_way", "is_installed", "libraries_in", "libraries_of"),
            "_mlir.held_interrupts": ("uninterrupted",),
        },
    )

__all__ = ["CANDIDATES", "Bindings", "bindings", "bindings_name", "bindings_stamp", "installed_bindings", "unfit_error"]

CANDIDATES = ("mlir", "torch_mlir", "mlir_finch")
"""The modules that are bindings, in the order in which they are taken."""
# Taken by themselves only after a probe, also where there are no others: their releases follow none of LLVM's.
_ON_PROBATION = ("mlir_finch",)
# The distribution of a module, if its name differs.
_DISTRIBUTIONS = {"torch_mlir": "torch-mlir", "mlir_finch": "finch-mlir", "mlir": "mlir-python-bindings"}
_WAY_OUT = (
    f"install MLIR's Python bindings with `pip install torch-mlir`, or set {BINDINGS.name} to the module that has them"
)


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
    try:
        module = _imported(f"{name}.ir")
    except ImportError as error:
        raise unfit_error(name, f"importing {name}.ir failed: {error}") from error
    _stamp.cache_clear()  # from now on these are the bindings, whatever sys.path was before
    return Bindings(name, os.path.dirname(module.__file__ or ""))


@cache
def bindings_name() -> str:
    """Returns the name of the bindings' module, without importing anything here.

    Raises:
        BindingsError: if no candidate exists, or none that can compile kernels.
    """
    asked = BINDINGS.value
    installed = installed_bindings()
    if not installed:
        raise _none_found(asked)
    if asked or (len(installed) == 1 and installed[0] not in _ON_PROBATION):
        return installed[0]
    faults: dict[str, str] = {}
    for name in installed:
        faults[name] = _fault(name)
        if not faults[name]:
            return name
    listed = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
    raise BindingsError(f"expected bindings that can compile kernels, but got {listed}: {_WAY_OUT}")


def installed_bindings() -> Sequence[str]:
    """Returns the names of the bindings that are installed, of those asked for, in the order they are taken."""
    asked = BINDINGS.value
    return tuple(name for name in ((asked,) if asked else CANDIDATES) if is_installed(name))


def _fault(name: str) -> str:
    """Returns what bindings lack, found by this process or an earlier one; "" where kernels can be compiled."""
    with importing():
        from mlir_sparse._mlir.kept_probes import kept_probe  # most processes have nothing to choose
        from mlir_sparse._mlir.probe_process import probe_elsewhere

    return (kept_probe(name) or probe_elsewhere(name)).missing


def unfit_error(name: str, missing: str) -> BindingsError:
    """Returns the error about bindings that cannot compile kernels.

    Args:
        name: the bindings' module.
        missing: what they lack, or how they failed.
    """
    rule = f"expected the bindings {name} {_version(name)} to compile kernels"
    return BindingsError(f"{rule}, but got {missing}: {_WAY_OUT} (`mlir-sparse doctor` probes them)")


def _none_found(asked: str | None) -> BindingsError:
    rule = f"{BINDINGS.name}={asked} to name importable bindings" if asked else f"one of {', '.join(CANDIDATES)}"
    names = (asked,) if asked else CANDIDATES
    in_the_way = [file for name in names if (file := file_in_the_way(name)) is not None]
    if in_the_way:
        return BindingsError(
            f"expected {rule}, but got no module `ir` in {', '.join(in_the_way)}, "
            f"which the path to modules has first: rename it, or run from elsewhere"
        )
    return BindingsError(f"expected {rule}, but got none: {_WAY_OUT}")


def bindings_stamp() -> str:
    """Returns an identity of the bindings that would be found, from their files, without importing anything."""
    return _stamp(BINDINGS.text)


@cache
def _stamp(asked: str | None) -> str:
    return repr([(name, _libraries(name)) for name in ((asked,) if asked else CANDIDATES)])


def _libraries(name: str) -> object:
    """Returns the libraries of bindings: their own, or those of others that an earlier probe found in them.

    Bindings whose libraries are unknown are like no others, so that no kernel of another build is taken for theirs.
    """
    found = libraries_of(name)
    if found is None or found:
        return found
    with importing():
        from mlir_sparse._mlir.kept_probes import kept_folders  # most bindings have libraries of their own

    return libraries_in(kept_folders(name)) or os.urandom(8).hex()


@deep_calls
def _imported(name: str) -> ModuleType:
    """Imports a module without interruption: half an import leaves types that cannot be created again."""
    if name in sys.modules:
        return sys.modules[name]
    with no_fork(), uninterrupted(), _own_symbols():
        return importlib.import_module(name)


@contextmanager
def _own_symbols() -> Iterator[None]:
    """Lets libraries prefer their own LLVM where TensorFlow's comes before all: mixed, they end the process."""
    if "tensorflow" not in sys.modules or not hasattr(os, "RTLD_DEEPBIND"):
        yield
        return
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(before)


def _version(name: str) -> str:
    from importlib import metadata  # loads email and zipfile, which `import mlir_sparse` can do without

    try:
        return metadata.version(_DISTRIBUTIONS.get(name, name))
    except metadata.PackageNotFoundError:
        return _version_of_files(name)


def _version_of_files(name: str) -> str:
    """Returns the version of the distribution that a package came with under another name, or "unknown"."""
    from importlib import metadata

    owners = metadata.packages_distributions().get(name.partition(".")[0], ())
    return ", ".join(f"{metadata.version(owner)} of {owner}" for owner in dict.fromkeys(owners)) or "unknown"
