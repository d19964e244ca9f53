"""How lit finds and runs the FileCheck tests of this folder.

Substitutions: `mlir-sparse` is the command line of this checkout, `FileCheck`
is LLVM's where one is installed and PyPI's filecheck otherwise,
`filecheck-py` is always PyPI's, `%python` the interpreter. Features:
`filecheck-llvm`, `mlir` (bindings are installed), `llvmlite`, `scipy`, `cuda` (a driver
is loaded) and the machine (`x86_64`, `aarch64`). `lit --param processes=1`
starts Python anew for each command.
"""

import atexit
import importlib.util
import os
import platform
import shlex
import sys
from pathlib import Path

import lit.formats

from mlir_sparse.tools.doctor import find_program

root = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "scripts"))

from served import Programs  # noqa: E402

config.name = "mlir_sparse"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Output"]
config.test_source_root = str(root / "lit")
config.test_exec_root = str(root / ".build" / "lit")

# What a test may see of the caller's environment.
for name in ("MLIR_SPARSE_BINDINGS", "CUDA_VISIBLE_DEVICES", "HOME", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# What an earlier run compiled must not make this one pass.
config.environment["MLIR_SPARSE_CACHE"] = "off"
# Plans are the same on every machine that tests run on.
config.environment["MLIR_SPARSE_MACHINE"] = "amd-epyc-family-25"


def command(name: str) -> str:
    """Finds a program, or leaves the name for the failing test to show."""
    return find_program(name) or name


programs = {"filecheck": command("filecheck"), "mlir-sparse": command("mlir-sparse"), "python": sys.executable}
if not lit_config.params.get("processes"):
    # A server runs a child a command, and a compiler, which has Python and the package loaded: a third of the time.
    server = Programs()
    atexit.register(server.end)
    programs = {name: shlex.join(server.command(name)) for name in programs}
    config.environment["MLIR_SPARSE_PYTHON"] = server.python()
file_check = find_program("FileCheck")
word = r"(?<![\w./-]){}(?![\w.-])"
config.substitutions += [
    (word.format("FileCheck"), file_check or programs["filecheck"]),
    (word.format("filecheck-py"), programs["filecheck"]),
    (word.format("mlir-sparse"), programs["mlir-sparse"]),
    ("%python", programs["python"]),
]

config.available_features.add(platform.machine())
if file_check:
    config.available_features.add("filecheck-llvm")
if any(importlib.util.find_spec(name) for name in ("mlir", "torch_mlir", "mlir_finch")):
    config.available_features.add("mlir")
if importlib.util.find_spec("llvmlite"):
    config.available_features.add("llvmlite")
if importlib.util.find_spec("scipy"):
    config.available_features.add("scipy")
if Path("/proc/driver/nvidia/version").exists():
    config.available_features.add("cuda")
