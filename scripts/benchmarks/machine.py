"""What a result must be read with: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["commit", "machine", "processor_of", "versions"]

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = (
    "mlir-sparse",
    "torch-mlir",
    "numpy",
    "scipy",
    "mkl",
    "torch",
    "python-graphblas",
    "suitesparse-graphblas",
    "numba",
    "duckdb",
)


def commit() -> str:
    """Returns the short hash, with `-modified` where the package differs from it; `unknown` outside a checkout."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        return f"{found}-modified" if _git("status", "--porcelain", "--", "mlir_sparse") else found
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.strip()


def machine() -> dict[str, str | int | float]:
    """Returns processor, cores, memory, load and system."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor(),
        "vendor": _first("/proc/cpuinfo", "vendor_id"),
        "family": _first("/proc/cpuinfo", "cpu family"),
        "model": _first("/proc/cpuinfo", "model"),
        "cores": os.cpu_count() or 0,
        "memory": _first("/proc/meminfo", "MemTotal"),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "python": platform.python_version(),
    }


def processor_of(host: Mapping[str, str | int | float]) -> str:
    """Returns what names a processor in a table: `AMD EPYC, family 25, model 1`."""
    parts = [str(host["processor"]), f"family {host['family']}", f"model {host['model']}" if "model" in host else ""]
    return ", ".join(filter(None, parts))


def _first(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == key), "")


def versions() -> dict[str, str]:
    """Returns the versions of the packages that are measured."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
