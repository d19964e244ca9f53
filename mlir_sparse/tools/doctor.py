"""What the package stands on, and where each part was found: `mlir-sparse doctor`."""

from __future__ import annotations

import ctypes
import glob
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlir_sparse import _native
from mlir_sparse._mlir import bindings
from mlir_sparse.errors import BindingsError
from mlir_sparse.runtime import cache_state

__all__ = ["Finding", "examine", "find_program"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for.

    Args:
        name: what it is.
        found: version and place, or why it is not there.
        needed: None where it was found; otherwise what does not work without it.
    """

    name: str
    found: str
    needed: str | None = None


def examine() -> Iterator[Finding]:
    """Yields what was found, in the order a compilation needs it."""
    yield Finding("mlir_sparse", _version("mlir-sparse"))
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("machine", f"{platform.machine()}, {platform.system()}, {os.cpu_count()} processors")
    yield Finding("native module", f"{_native.__version__}, {_native.__file__}")
    for distribution, use in (("numpy", "anything"), ("ml_dtypes", "bf16"), ("fast-matrix-market", ".mtx files")):
        yield _distribution(distribution, use)
    yield _distribution("scipy", "ms.tensor of SciPy matrices, to_scipy")
    yield _bindings()
    yield Finding("kernel cache", cache_state())
    yield _program("FileCheck", "nothing, where filecheck is found")
    yield _program("filecheck", "lit tests, where FileCheck is absent")
    yield _program("ptxas", "checking PTX ahead of a run")
    yield _distribution("llvmlite", 'PTX for target="cuda"')
    yield _driver()


def _version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


def _distribution(name: str, use: str) -> Finding:
    try:
        return Finding(name, _version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", use)


def _bindings() -> Finding:
    try:
        found = bindings()
    except BindingsError as error:
        return Finding("MLIR bindings", str(error), "everything after the plan")
    return Finding("MLIR bindings", f"{found.name} {found.version}, {found.path}")


def find_program(name: str) -> str | None:
    """Finds a program beside the interpreter, on PATH or where LLVM and CUDA are installed, the newest first."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    folders = ("/usr/lib/llvm-*/bin", "/usr/local/cuda*/bin")
    places = sorted((path for folder in folders for path in glob.glob(f"{folder}/{name}")), key=_numbers, reverse=True)
    return next((path for path in [beside, shutil.which(name), *places] if path and os.access(path, os.X_OK)), None)


def _program(name: str, use: str) -> Finding:
    path = find_program(name)
    if path is None:
        return Finding(name, "not found", use)
    return Finding(name, f"{_reported_version(path)}, {path}")


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]


def _reported_version(path: str) -> str:
    try:
        run = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "version unknown"
    match = re.search(r"\d+\.\d+(\.\d+)?", run.stdout + run.stderr)
    return match[0] if match else "version unknown"


def _driver() -> Finding:
    """Asks the CUDA driver itself, which every program finds by this name."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        version, devices = ctypes.c_int(), ctypes.c_int()
        calls: list[Callable[[], int]] = [
            lambda: int(cuda.cuInit(0)),
            lambda: int(cuda.cuDriverGetVersion(ctypes.byref(version))),
            lambda: int(cuda.cuDeviceGetCount(ctypes.byref(devices))),
        ]
        status = next((code for code in (call() for call in calls) if code), 0)
    except OSError:
        return Finding("CUDA driver", "not found", 'running with target="cuda"')
    if status:
        return Finding("CUDA driver", f"present, but answers with error {status}", 'running with target="cuda"')
    return Finding(
        "CUDA driver", f"CUDA {version.value // 1000}.{version.value % 1000 // 10}, {devices.value} device(s)"
    )
