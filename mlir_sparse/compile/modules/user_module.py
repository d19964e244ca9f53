"""Modules of MLIR that users write: verified, compiled, and called from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from mlir_sparse import _native, pipeline, runtime
from mlir_sparse.classes import dataclass
from mlir_sparse.compile import exploring
from mlir_sparse.compile.modules.module_function import ModuleFunction
from mlir_sparse.errors import ModuleError, NoFunctionError, OperandError, UnsupportedError
from mlir_sparse.pipeline import DeclaredFunction
from mlir_sparse.runtime.disk_cache import fetch_entry, store_entry
from mlir_sparse.text.given_arguments import integer_of, shown, text_of
from mlir_sparse.text.listed_words import listed
from mlir_sparse.text.module_text import BYTECODE
from mlir_sparse.text.parameter_names import parameter_names
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.text.source_text import Source

__all__ = ["UserModule", "content_of", "module"]

_SUFFIXES = (".mlir", ".mlirbc")
_MOST_LANES = 1024  # of bytes in the widest registers there are a sixteenth as many
_STAGES = ("source", "buffers", "llvm", "llvmir", "asm")


@dataclass(frozen=True, eq=False)
class UserModule(PrintedValue):
    """A module of MLIR whose public functions can be called; `module` makes one.

    Args:
        name: its path, or what messages call it.
        content: its text or bytecode.
        functions: its public functions by name.
        machine: the machine code of all of them.
        lanes: lanes of the sparsifier's vector loops.
    """

    name: str
    content: bytes
    functions: Mapping[str, ModuleFunction]
    machine: runtime.Machine = field(repr=False)
    lanes: int = 0

    def __getattr__(self, name: str) -> ModuleFunction:
        if name.startswith("__"):  # Python asks for its own
            raise AttributeError(name)
        found = self.functions.get(name)
        if found is None:
            raise NoFunctionError(self._absent(name))
        return found

    def __getitem__(self, name: str) -> ModuleFunction:
        """Returns a function, whatever characters are in its name.

        Raises:
            ModuleError: for a function that is not there, with the names of those that are.
        """
        found = self.functions.get(text_of(name, "the name of a function"))
        if found is None:
            raise ModuleError(self._absent(name))
        return found

    def __dir__(self) -> Iterator[str]:
        return iter([*super().__dir__(), *self.functions])

    def __repr__(self) -> str:
        return "\n".join((f"<module {self.name}>", *(f"  {one!r}" for one in self.functions.values())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.name, self.content, self.lanes)  # what loads it compiles for its own machine

    def _absent(self, name: str) -> str:
        there = listed(self.functions) if self.functions else "no public function with a body"
        return f"expected a function of {self.name}, which has {there}, but got {name!r}"

    def ir(self, stage: str = "buffers") -> str:
        """Returns the module at a stage.

        Args:
            stage: `source`, as it was given; `buffers`, sparsified and bufferized; `llvm`, in the LLVM dialect;
                `llvmir`; `asm`.

        Raises:
            UnsupportedError: for any other stage.
        """
        buffers = pipeline.module_to_buffers(self.lanes)
        whole = buffers.then(pipeline.module_to_llvm())
        match text_of(stage, "a stage"):
            case "source":
                return self._lowered(pipeline.Pipeline(()), as_text=True).decode()
            case "buffers":
                return self._lowered(buffers, as_text=True).decode()
            case "llvm":
                return self._lowered(whole, as_text=True).decode()
            case "llvmir":
                return runtime.llvm_ir(self._lowered(whole))
            case "asm":
                return runtime.assembly(self.machine.object_file())
            case _:
                raise UnsupportedError(f"expected a stage of {', '.join(_STAGES)}, but got {stage!r}")

    def passes(self) -> exploring.Passes:
        """Returns the module after each pass; see `Kernel.passes`."""
        return exploring.module_passes(self.content, self.name, lanes=self.lanes)

    def _lowered(self, passes: pipeline.Pipeline, *, as_text: bool = False) -> bytes:
        return pipeline.compile_module(self.content, passes, kernel=self.name, as_text=as_text)


def module(source: Any, *, lanes: int = 0) -> UserModule:
    """Returns a module of MLIR, verified and compiled, whose public functions are called with tensors.

    A function's parameters and results may be sparse and dense tensors, memrefs, and numbers. Parameters may be batches
    and slices too; of slices, also those that a program takes by `tensor.extract_slice`, it has copies. The private
    functions that the module declares are those that MLIR's runner has: printing (`vector.print`, `printMemrefF64`,
    ...), files of tensors (`getTensorFilename`, `sparse_tensor.new`), and those of the C library.

    Args:
        source: the text of a module, the path of a file (.mlir or .mlirbc), or an `ir.Module` of the bindings.
        lanes: lanes of the sparsifier's vector loops; 0 leaves loops scalar.

    Raises:
        OperandError: for what is no module, and another number of lanes than 0 to 1024.
        ModuleError: for a module that does not parse or verify, with MLIR's diagnostic and its place.
        CompileError: if a pass fails, likewise.
        CompilerCrash: if the compiler dies, with a file that reproduces it.

    >>> m = module('''
    ... #CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 32 }>
    ... func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
    ...   %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>)
    ...                      outs(%y : tensor<?xf64>) -> tensor<?xf64>
    ...   return %0 : tensor<?xf64>
    ... }''')
    >>> from mlir_sparse.tensor import tensor
    >>> m.spmv(tensor([[0.0, 2.0], [3.0, 0.0]], "CSR"), [1.0, 10.0], [0.5, 0.5])
    array([20.5,  3.5])
    """
    name, content = content_of(source)
    count = integer_of(lanes, "a number of lanes")
    if not 0 <= count <= _MOST_LANES:
        raise OperandError(f"expected 0 to {_MOST_LANES} lanes, but got {count}")
    return _made(name, content, count)


def _made(name: str, content: bytes, lanes: int) -> UserModule:
    key = f"module {lanes} {pipeline.host_text()}\n{content.hex()}"
    declared, machine = _compiled(key, name, content, lanes)
    source = None if content.startswith(BYTECODE) else Source(content.decode(errors="replace"), name)
    text = "" if source is None else source.text
    functions = {
        one.name: ModuleFunction(one, parameter_names(text, one.name, len(one.inputs)), machine, name, source)
        for one in declared
    }
    return UserModule(name, content, functions, machine, lanes)


def content_of(source: Any) -> tuple[str, bytes]:
    """Returns what messages call a module, and its text or bytecode."""
    if isinstance(source, bytes):
        return "module", source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        return os.fspath(source), Path(source).read_bytes()
    if isinstance(source, str):
        return "module", source.encode()
    operation = getattr(source, "operation", None)  # a module of any version of the bindings
    if operation is None or not callable(getattr(operation, "get_asm", None)):
        raise OperandError(f"expected the text of a module, a path or an ir.Module, but got {shown(source)}")
    return "module", operation.get_asm(enable_debug_info=False).encode()


def _is_path(text: str) -> bool:
    return "\n" not in text and text.endswith(_SUFFIXES)


def _compiled(key: str, name: str, content: bytes, lanes: int) -> tuple[tuple[DeclaredFunction, ...], runtime.Machine]:
    """Returns the public functions and their machine code, from the cache on disk or compiled now."""
    stored = fetch_entry(key)
    if stored is not None:
        declared = _read(stored[0])
        return declared, runtime.kept_machine(stored[1], [one.name for one in declared])
    buffers, llvm = pipeline.module_to_buffers(lanes), pipeline.module_to_llvm()
    loads = _native.loads_objects
    code, declared = pipeline.compile_user_module(content, name, buffers, llvm, as_object=loads)
    names = [one.name for one in declared]
    if not names:
        return declared, runtime.NoCode()
    machine = runtime.kept_machine(code, names)
    if not runtime.sources_changed():
        store_entry(key, json.dumps([asdict(one) for one in declared]).encode(), code, names)
    return declared, machine


def _read(text: bytes) -> tuple[DeclaredFunction, ...]:
    return tuple(
        DeclaredFunction(one["name"], *(tuple(one[key]) for key in ("inputs", "results", "effects")))
        for one in json.loads(text)
    )
