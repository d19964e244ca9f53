"""Functions that GPUs have no instruction for, from the library of LLVM bitcode that comes with CUDA."""

from __future__ import annotations

import glob
import os
import re
import sys
from typing import Any

from mlir_sparse.process import settings

__all__ = ["find_library", "functions_wanted", "link_library", "with_instructions"]

_FILE = "nvvm/libdevice/libdevice.10.bc"
# What there is an instruction for, or a short sequence that LLVM knows.
_INSTRUCTIONS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "fma": "fma",
    "copysign": "copysign",
}
_CALLED = re.compile(r"@__nv_(\w+)\(")


def with_instructions(text: str) -> str:
    """Returns LLVM IR that calls no library for what is an instruction."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        single = name.endswith("f") and name[:-1] in _INSTRUCTIONS
        plain = name[:-1] if single else name
        if plain not in _INSTRUCTIONS:
            return found[0]
        return f"@llvm.{_INSTRUCTIONS[plain]}.f{32 if single else 64}("

    return _CALLED.sub(replaced, text)


def functions_wanted(text: str) -> list[str]:
    """Returns the functions of the library that LLVM IR calls, without their prefix."""
    return sorted(set(_CALLED.findall(text)))


def find_library() -> str | None:
    """Returns the path of the library: MLIR_SPARSE_LIBDEVICE, CUDA's own folder, or a package of the interpreter's."""
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    asked = settings.LIBDEVICE.value
    if asked is not None:
        return asked
    places = [os.path.join(home, _FILE) for home in homes]
    places += sorted(glob.glob(f"/usr/local/cuda*/{_FILE}"), reverse=True)
    places += [path for folder in sys.path if folder for path in sorted(glob.glob(f"{folder}/nvidia/*/{_FILE}"))]
    return next((path for path in places if path and os.path.isfile(path)), None)


def link_library(module: Any, path: str) -> None:
    """Links what a module calls of the library into it.

    Args:
        module: a module of llvmlite's.
        path: the library.
    """
    import llvmlite.binding as llvm

    with open(path, "rb") as file:
        library = llvm.parse_bitcode(file.read())
    library.triple, library.data_layout = module.triple, module.data_layout
    own = {function.name for function in module.functions if not function.is_declaration}
    module.link_in(library)
    for function in module.functions:
        # What nothing calls goes, and what is called is inlined.
        if not function.is_declaration and function.name not in own:
            function.linkage = "internal"
