"""The files of bindings, found without importing anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec

__all__ = ["File", "file_in_the_way", "is_installed", "libraries_in", "libraries_of", "place_of"]

File = tuple[str, int, int]
"""A file's path, the time of its last change in nanoseconds, and its size in bytes."""

_LIBRARIES = (".so", ".dylib", ".pyd", ".dll")


def is_installed(name: str) -> bool:
    """Returns whether a module has a submodule `ir`; a file that only has the name is not run."""
    return place_of(name) is not None


def place_of(name: str) -> str | None:
    """Returns the file of bindings' `ir`; None where there is none, "" for one that is no file."""
    whole = f"{name}.ir"
    for found, spec in _specs(whole):
        if found == whole:
            return spec.origin or ""
    return None


def file_in_the_way(name: str) -> str | None:
    """Returns a file with the name of bindings that would be imported instead of them, or None."""
    spec = _spec_of(name.partition(".")[0], None)
    return None if spec is None else spec.origin


def libraries_of(name: str) -> list[File] | None:
    """Returns the libraries of bindings; None where there is no package of that name.

    They lie in a folder `_mlir_libs` of the package, or of one that it is in.
    """
    specs = [spec for _, spec in _specs(name)]
    folders = (folder for spec in specs for folder in spec.submodule_search_locations or ())
    return libraries_in(os.path.join(folder, "_mlir_libs") for folder in folders) if specs else None


def libraries_in(folders: Iterable[str]) -> list[File]:
    """Returns the libraries in folders, in the order of their paths."""
    found: list[File] = []
    for folder in folders:
        try:
            with os.scandir(folder) as items:
                stats = [(item.path, item.stat()) for item in items if any(end in item.name for end in _LIBRARIES)]
        except OSError:
            continue
        found += [(path, about.st_mtime_ns, about.st_size) for path, about in stats]
    return sorted(found)


def _specs(name: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Yields each package that a dotted name goes through, and the module, as far as they exist."""
    path: Iterable[str] | None = None
    found = ""
    for part in name.split("."):
        found = f"{found}.{part}".lstrip(".")
        spec = _spec_of(found, path)
        if spec is None:
            return
        yield found, spec
        path = spec.submodule_search_locations
        if path is None:
            return


def _spec_of(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    loaded = sys.modules.get(name)
    spec = None if loaded is None else loaded.__spec__
    if spec is not None and spec.name == name:  # not of a module that stands here under another name
        return spec
    for finder in sys.meta_path:
        found = finder.find_spec(name, None if path is None else list(path))
        if found is not None:
            return found
    return None
