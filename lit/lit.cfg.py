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
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import lit.formats

from mlir_sparse.tools.doctor import find_program

root = Path(__file__).resolve().parent.parent

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


def command(name: str) -> str:
    """Finds a program, or leaves the name for the failing test to show."""
    return find_program(name) or name


def served(names: tuple[str, ...]) -> dict[str, str]:
    """Returns how programs are run by a server that has loaded them, and ends with lit."""
    here, folder = Path(__file__).resolve().parent / "programs", tempfile.mkdtemp(prefix="lit-")
    path = os.path.join(folder, "socket")  # in a short folder: names of sockets have 107 characters at most
    server = subprocess.Popen([sys.executable, here / "server.py", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end() -> None:
        server.kill()
        server.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    if server.stdout.readline() != b"ready\n":
        lit_config.fatal("expected the server of programs to start")
    return {name: f"{sys.executable} -I -S {here / 'client.py'} {path} {name}" for name in names}


names = ("filecheck", "mlir-sparse")
# A server runs a child a command, which has Python and the package loaded: a third of the time.
programs = {name: command(name) for name in names} if lit_config.params.get("processes") else served(names)
file_check = find_program("FileCheck")
word = r"(?<![\w./-]){}(?![\w.-])"
config.substitutions += [
    (word.format("FileCheck"), file_check or programs["filecheck"]),
    (word.format("filecheck-py"), programs["filecheck"]),
    (word.format("mlir-sparse"), programs["mlir-sparse"]),
    ("%python", sys.executable),
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
