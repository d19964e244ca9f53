"""Files of kernels: machine code that loads without a compiler.

A file is a zip archive with `kernel.json`, which describes the kernel and the processor that it needs, and machine
code: one file for each specialisation, and one more for the numeric phase of a sparse result. The code is an object
file if the platform loads these natively, else a shared library, which needs a linker.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mlir_sparse import _native
from mlir_sparse.disk import refusing, replacing
from mlir_sparse.errors import CompileError, FileFormatError, UnsupportedError
from mlir_sparse.process.available_memory import check_fits
from mlir_sparse.runtime.machine_code import LoadedLibrary, LoadedObject, Machine, NoCode
from mlir_sparse.runtime.saved_index import FORMAT, check_digest, check_index, digest_of
from mlir_sparse.text.shortened import shortened

__all__ = ["SAVED", "SavedCode", "machine_of", "read_archive", "write_archive"]

SAVED = "a kernel written by Kernel.save"
"""What is expected in a file."""
_INDEX = "kernel.json"
# Linkers, in the order tried.
_LINKERS = (("ld", "-shared"), ("cc", "-shared"), ("gcc", "-shared"), ("clang", "-shared"), ("ld.lld", "-shared"))


class SavedCode(NamedTuple):
    """The machine code of a specialisation.

    Args:
        name: that of its file in the archive: an object file's, `.o`, or a shared library's.
        content: the bytes of the file.
    """

    name: str
    content: bytes


def write_archive(path: str | os.PathLike[str], index: Mapping[str, Any], machines: Sequence[Machine]) -> None:
    """Writes kernels to a file; the file appears whole or not at all.

    Raises:
        UnsupportedError: if a linker is needed and none is installed.
        CompileError: if the linker fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        codes = [_code_file(machine, Path(folder), number) for number, machine in enumerate(machines)]
        host = {
            "format": FORMAT,
            "codes": [code.name for code in codes],
            "machine": os.uname().machine,
            "system": os.uname().sysname,
        }
        whole = {**index, **host}
        whole["digest"] = digest_of(whole, (code.read_bytes() for code in codes))
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_INDEX, json.dumps(whole, indent=1))
            for code in codes:
                archive.write(code, code.name)


def _code_file(machine: Machine, folder: Path, number: int) -> Path:
    object_file, library = folder / f"{number}.o", folder / f"{number}.so"
    if isinstance(machine, LoadedLibrary):
        library.write_bytes(machine.content)
        return library
    object_file.write_bytes(machine.object_file())
    if _native.loads_objects or not machine.addresses:
        return object_file
    return _link(object_file, library)


def _link(object_file: Path, library: Path) -> Path:
    for tool, *flags in _LINKERS:
        found = shutil.which(tool)
        if found is None:
            continue
        command = [found, *flags, "-o", str(library), str(object_file)]
        outcome = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if outcome.returncode == 0:
            return library
        raise CompileError(f"expected {tool} to link the kernel, but got: {outcome.stderr.strip()}")
    names = ", ".join(tool for tool, *_ in _LINKERS)
    raise UnsupportedError(f"expected one of {names} on PATH to save a kernel, but got none: install binutils")


def read_archive(path: str | os.PathLike[str], features: frozenset[str]) -> tuple[dict[str, Any], list[SavedCode]]:
    """Reads a file of kernels.

    Returns:
        the index, and the code of each specialisation.

    Raises:
        FileFormatError: for any other file.
        UnsupportedError: for code of another machine, which would end the process.
    """
    with open(path, "rb") as file:
        content = file.read()  # later system errors concern the contents
    with refusing(path, SAVED), zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_fits(sum(about.file_size for about in archive.infolist()), f"the kernel in {os.fspath(path)}")
        index = check_index(path, json.loads(archive.read(_INDEX)))
        _check_host(path, index, features)
        absent = [name for name in index["codes"] if name not in archive.namelist()]
        if absent:
            raise FileFormatError(
                f"expected {shortened(absent[0])} in {os.fspath(path)}, but got no such code: save it again"
            )
        check_digest(path, index, map(archive.read, index["codes"]))
        return index, [SavedCode(name, archive.read(name)) for name in index["codes"]]


def machine_of(path: str | os.PathLike[str], code: SavedCode, functions: Sequence[str]) -> Machine:
    """Loads machine code that `read_archive` returned.

    Raises:
        FileFormatError: for data that is no such code.
        UnsupportedError: if the system gives no memory for code.
    """
    if not functions:
        return NoCode()
    try:
        loaded = LoadedObject if code.name.endswith(".o") else LoadedLibrary
        return loaded(code.content, functions)
    except (ValueError, OSError, AttributeError) as error:
        raise FileFormatError(f"expected machine code in {os.fspath(path)}, but got: {error}") from None
    except RuntimeError as error:
        raise UnsupportedError(f"{error} ({os.fspath(path)})") from None


def _check_host(path: str | os.PathLike[str], index: Mapping[str, Any], features: frozenset[str]) -> None:
    target, here = (index["system"], index["machine"]), (os.uname().sysname, os.uname().machine)
    if target != here:
        raise UnsupportedError(
            f"expected a kernel for {'/'.join(here)} in {os.fspath(path)}, "
            f"but got one for {'/'.join(target)}: save it here"
        )
    missing = sorted(set(index["features"]) - features)
    if missing:
        raise UnsupportedError(
            f"expected a processor with {', '.join(missing)} for {os.fspath(path)}, but got one without: save it here"
        )
