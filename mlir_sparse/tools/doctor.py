"""`mlir-sparse doctor`: the dependencies of the package, and where they were found."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

from mlir_sparse import _cuda, _native
from mlir_sparse._mlir import bindings, installed_bindings, probe_elsewhere
from mlir_sparse.classes import dataclass
from mlir_sparse.device import Device, chip_of, cuda_libraries_found, memory_info
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.errors import BindingsError, DeviceError, UnsupportedError
from mlir_sparse.machine import machine_profile
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.process.installed_programs import find_program
from mlir_sparse.runtime import cache_state

__all__ = ["Finding", "examine"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One dependency.

    Args:
        name: its name.
        found: version and place, or why it is missing.
        needed: None if it was found; else the functions that do not work without it.
    """

    name: str
    found: str
    needed: str | None = None


def examine() -> Iterator[Finding]:
    """Yields the findings, in the order in which a compilation needs them."""
    yield Finding("mlir_sparse", _version("mlir-sparse"))
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("machine", f"{platform.machine()}, {platform.system()}, {os.cpu_count()} processors")
    profile = machine_profile()
    yield Finding("machine profile", f"{profile}: {profile.source}")
    yield Finding("native module", f"{_native.__version__}, {_native.__file__}")
    packages: dict[str, list[str]] = {}
    for dtype in DTYPES:
        packages.setdefault(dtype.package, []).append(dtype.name)
    yield _distribution("numpy", "anything")
    yield from (_distribution(name, ", ".join(types)) for name, types in packages.items() if name != "numpy")
    yield _distribution("scipy", "ms.tensor of SciPy matrices, to_scipy")
    yield from _bindings()
    yield Finding("kernel cache", cache_state())
    yield _program("FileCheck", "nothing, where filecheck is found")
    yield _program("filecheck", "lit tests, where FileCheck is absent")
    yield _program("ptxas", "checking PTX ahead of a run")
    yield _distribution("llvmlite", 'PTX for target="cuda"')
    yield from _devices()


def _version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


def _distribution(name: str, use: str) -> Finding:
    try:
        return Finding(name, _version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", use)


def _bindings() -> Iterator[Finding]:
    """Yields a finding on the bindings in use, and what a probe finds in each that is installed."""
    use = "everything after the plan"
    for name in installed_bindings():
        probe = probe_elsewhere(name)
        found = "; ".join((*probe.found, *([f"missing: {probe.missing}"] if probe.missing else [])))
        yield Finding(f"probe of {name}", found, use if probe.missing else None)
    try:
        used = bindings()
        yield Finding("MLIR bindings", f"{used.name} {used.version}, {used.path}")
    except BindingsError as error:
        yield Finding("MLIR bindings", str(error), use)


def _program(name: str, use: str) -> Finding:
    path = find_program(name)
    if path is None:
        return Finding(name, "not found", use)
    return Finding(name, f"{_reported_version(path)}, {path}")


def _reported_version(path: str) -> str:
    try:
        run = subprocess.run(
            [path, "--version"], capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "version unknown"
    match = re.search(r"\d+\.\d+(\.\d+)?", run.stdout + run.stderr)
    return match[0] if match else "version unknown"


def _devices() -> Iterator[Finding]:
    """Yields findings on the driver's devices and the vendor libraries."""
    use = 'running with target="cuda"'
    try:
        cuda_libraries_found.load_driver()
    except DeviceError as error:
        yield Finding("CUDA driver", str(error), use)
    else:
        version, count = _cuda.driver_version(), _cuda.device_count()
        yield Finding(
            "CUDA driver", f"CUDA {version // 1000}.{version % 1000 // 10}, {count} device(s), {_cuda.driver_path()}"
        )
        yield from (_device(Device(number)) for number in range(count))
    yield _library("cuSPARSE", cuda_libraries_found.load_sparse, _cuda.sparse_version, _cuda.sparse_path)
    yield _library("cuSPARSELt", cuda_libraries_found.load_structured, _cuda.structured_version, _cuda.structured_path)


def _library(name: str, load: Callable[[], None], version: Callable[[int], int], path: Callable[[], str]) -> Finding:
    try:
        load()
        return Finding(name, f"{version(0)}, {path()}")
    except (DeviceError, UnsupportedError) as error:
        return Finding(name, str(error), 'via="library"')


def _device(where: Device) -> Finding:
    try:
        free, total = memory_info(where)
        held = f"{in_units(free)} free of {in_units(total)}"
    except DeviceError as error:
        return Finding(str(where), str(error), f"tensors on {where}")
    return Finding(str(where), f"{_cuda.device_name(where.number)}, {chip_of(where)}, {held}")
