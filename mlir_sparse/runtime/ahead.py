"""Kernels ahead of time: machine code in a file, loaded without a compiler.

A file is a zip archive of `kernel.json`, which says what the kernel is and what
the code needs of a processor, and shared libraries: one a specialisation, and one more
where its result is sparse, which computes values into structures.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlir_sparse.errors import CompileError, FileFormatError, UnsupportedError
from mlir_sparse.runtime.jit import CompiledModule

__all__ = ["LoadedModule", "read_archive", "write_archive"]

_FORMAT = 2
_INDEX = "kernel.json"
# What can make a shared library of an object file, in the order tried.
_LINKERS = (("ld", "-shared"), ("cc", "-shared"), ("gcc", "-shared"), ("clang", "-shared"), ("ld.lld", "-shared"))


@dataclass(frozen=True)
class LoadedModule:
    """Machine code from a shared library; lives as long as the process.

    Args:
        path: the library.
        names: the functions to look up.
    """

    path: str
    names: Sequence[str]
    addresses: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        library = ctypes.CDLL(self.path)
        found = {name: getattr(library, f"_mlir__mlir_ciface_{name}") for name in self.names}
        addresses = {name: ctypes.cast(symbol, ctypes.c_void_p).value or 0 for name, symbol in found.items()}
        object.__setattr__(self, "addresses", addresses)


def write_archive(
    path: str | os.PathLike[str], index: Mapping[str, Any], modules: Sequence[CompiledModule | LoadedModule]
) -> None:
    """Writes kernels to a file; the file appears whole or not at all.

    Args:
        path: the file.
        index: what `read_archive` gives back.
        modules: the code of each specialisation.

    Raises:
        UnsupportedError: when no linker is installed.
        CompileError: when the linker fails.
    """
    target = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        libraries = [_link(module, Path(folder), number) for number, module in enumerate(modules)]
        host = {
            "format": _FORMAT,
            "libraries": len(libraries),
            "machine": platform.machine(),
            "system": platform.system(),
        }
        descriptor, partial = tempfile.mkstemp(prefix=target.name, dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_INDEX, json.dumps({**index, **host}, indent=1))
                for library in libraries:
                    archive.write(library, library.name)
            os.replace(partial, target)
        except BaseException:
            os.unlink(partial)
            raise


def _link(module: CompiledModule | LoadedModule, folder: Path, number: int) -> Path:
    object_file, library = folder / f"{number}.o", folder / f"{number}.so"
    if isinstance(module, LoadedModule):
        return Path(shutil.copyfile(module.path, library))
    module.write_object(object_file)
    for tool, *flags in _LINKERS:
        found = shutil.which(tool)
        if found is None:
            continue
        command = [found, *flags, "-o", str(library), str(object_file)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        if outcome.returncode == 0:
            return library
        raise CompileError(f"expected {tool} to link the kernel, but got: {outcome.stderr.strip()}")
    names = ", ".join(tool for tool, *_ in _LINKERS)
    raise UnsupportedError(f"expected one of {names} on PATH to save a kernel, but got none: install binutils")


def read_archive(path: str | os.PathLike[str], features: frozenset[str]) -> tuple[dict[str, Any], list[str]]:
    """Reads a file of kernels.

    Args:
        path: the file.
        features: the instruction set extensions of this host.

    Returns:
        the index, and the path of each shared library.

    Raises:
        FileFormatError: for a file that is no such archive.
        UnsupportedError: for code of another machine, which would end the process if it ran.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            index = json.loads(archive.read(_INDEX))
            _check_host(path, index, features)
            # dlopen wants files, and maps them: they must outlive this call.
            folder = tempfile.mkdtemp(prefix="mlir-sparse-")
            names = [f"{number}.so" for number in range(index["libraries"])]
            return index, [archive.extract(name, folder) for name in names]
    except (zipfile.BadZipFile, KeyError, TypeError, json.JSONDecodeError, EOFError) as error:
        raise FileFormatError(
            f"expected a kernel written by Kernel.save in {os.fspath(path)}, but got {error}"
        ) from None


def _check_host(path: str | os.PathLike[str], index: Mapping[str, Any], features: frozenset[str]) -> None:
    if index["format"] != _FORMAT:
        raise FileFormatError(
            f"expected format {_FORMAT} in {os.fspath(path)}, but got {index['format']}: save it again"
        )
    made, here = (index["system"], index["machine"]), (platform.system(), platform.machine())
    if made != here:
        raise UnsupportedError(
            f"expected a kernel for {'/'.join(here)} in {os.fspath(path)}, "
            f"but got one for {'/'.join(made)}: save it here"
        )
    missing = sorted(set(index["features"]) - features)
    if missing:
        raise UnsupportedError(
            f"expected a processor with {', '.join(missing)} for {os.fspath(path)}, but got one without: save it here"
        )
