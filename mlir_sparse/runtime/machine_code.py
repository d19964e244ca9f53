"""Machine code in this process, from an object file or a shared library."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.forks import importing

__all__ = ["LoadedLibrary", "LoadedObject", "Machine", "NoCode", "is_module", "kept_machine", "symbol_of"]

_BYTECODE = b"ML\xefR"  # what modules as bytes start with


class Machine(Protocol):
    """Functions of a program; their code lives at least as long as this object."""

    @property
    def addresses(self) -> Mapping[str, int]:
        """Returns the address of each function, by name."""
        ...

    def object_file(self) -> bytes:
        """Returns the code as a relocatable object file.

        Raises:
            UnsupportedError: for code from a shared library.
        """
        ...

    def kept_code(self) -> bytes:
        """Returns what `kept_machine` makes the same code of in another process.

        Raises:
            UnsupportedError: for code from a shared library.
        """
        ...


def is_module(code: bytes) -> bool:
    """Returns whether code is a module of MLIR's and no object file."""
    return code.startswith(_BYTECODE)


def kept_machine(code: bytes, names: Sequence[str]) -> Machine:
    """Returns the machine code of functions that another process kept.

    Args:
        code: an object file, or a module in the LLVM dialect where the native loader takes no objects: MLIR's engine
            then makes the code again, without the passes and the compiler's process.
        names: the functions.

    Raises:
        ValueError, RuntimeError: for code that cannot be loaded here.
    """
    if not is_module(code):
        return LoadedObject(code, names)
    with importing():
        from mlir_sparse.runtime.jit import CompiledModule  # it loads MLIR

    return CompiledModule(code, names)


def symbol_of(function: str) -> str:
    """Returns the symbol of the variant of a function whose parameter is an array of pointers to arguments."""
    return f"_mlir__mlir_ciface_{function}"


class LoadedObject:
    """Machine code from an object file, loaded natively, without a linker.

    Raises:
        ValueError: for data that is no object file of this machine, lacks a function, or calls an unknown symbol.
        RuntimeError: if the system gives no memory for code.
    """

    def __init__(self, data: bytes, names: Sequence[str]) -> None:
        self._data = data
        self._code = _native.Code(data, [symbol_of(name) for name in names])
        found = self._code.addresses
        self.addresses: Mapping[str, int] = {name: found[symbol_of(name)] for name in names}

    def object_file(self) -> bytes:
        """Returns the object file."""
        return self._data

    def kept_code(self) -> bytes:
        """Returns the object file."""
        return self._data


@dataclass(frozen=True, slots=True)
class NoCode:
    """The machine code of a program without loops, such as one product of arrays."""

    addresses: Mapping[str, int] = field(default_factory=dict)

    def object_file(self) -> bytes:
        """Returns nothing."""
        return b""

    def kept_code(self) -> bytes:
        """Returns nothing."""
        return b""


@dataclass(frozen=True)
class LoadedLibrary:
    """Machine code from a shared library, given as the bytes of its file; lives as long as the process."""

    content: bytes
    names: Sequence[str]
    addresses: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        with importing():
            import tempfile  # it loads modules of compression, and libraries are loaded by few

        with tempfile.TemporaryDirectory(prefix="mlir-sparse-") as folder:
            path = os.path.join(folder, "kernel.so")
            with open(path, "wb") as file:
                file.write(self.content)
            library = ctypes.CDLL(path)  # mapped from now on, whether the file is there or not
        found = {name: getattr(library, symbol_of(name)) for name in self.names}
        addresses = {name: ctypes.cast(symbol, ctypes.c_void_p).value or 0 for name, symbol in found.items()}
        object.__setattr__(self, "addresses", addresses)

    def object_file(self) -> bytes:
        """Raises UnsupportedError: the code is not relocatable any more."""
        raise UnsupportedError("expected code that was not linked, but got a shared library")

    def kept_code(self) -> bytes:
        """Raises UnsupportedError: another process is given the library."""
        raise UnsupportedError("expected code that was not linked, but got a shared library")
