"""The loops in C, compiled by the system's compiler and kept in .build for the next run."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["COMPILERS", "FLAGS", "SOURCES", "compiled", "compiler"]

SOURCES = Path(__file__).resolve().parents[1] / "c_loops"
_BUILT = Path(__file__).resolve().parents[3] / ".build" / "c_loops"
COMPILERS = ("cc", "gcc", "clang")
# What a user of TACO would get, whose own flags take products of complex numbers as finite ones, too.
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fopenmp", "-fcx-limited-range", "-shared", "-fPIC")


@cache
def compiler() -> str:
    """Returns the path of the system's compiler: the one in `CC`, or the first of COMPILERS that there is.

    Raises:
        ImportError: where there is none.
    """
    names = filter(None, (os.environ.get("CC"), *COMPILERS))
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise ImportError(f"expected a C compiler on PATH, {', '.join(COMPILERS)}, or in CC, but there is none")
    return found


@cache
def compiled(name: str, element: str) -> ctypes.CDLL:
    """Returns the functions of a file for an element type, compiled if they have not been.

    Args:
        name: of a file in SOURCES.
        element: as in `element.h`, such as f64.

    Raises:
        ImportError: where there is no compiler, or none that takes the file: its own words.
    """
    source = SOURCES / f"{name}.c"
    command = [compiler(), *FLAGS, f"-DTYPE_{element}", str(source)]
    key = hashlib.sha256(" ".join([*command, _version(), _processor()]).encode())
    for path in (source, SOURCES / "element.h"):
        key.update(path.read_bytes())
    path = _BUILT / f"{name}-{element}-{key.hexdigest()[:16]}.so"
    if not path.exists():
        _BUILT.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}.so")  # another run may be at it too
        made = subprocess.run([*command, "-o", str(own), "-lm"], capture_output=True, text=True, check=False)
        if made.returncode:
            raise ImportError(f"expected {compiler()} to compile {source.name} for {element}, but: {made.stderr[:500]}")
        own.replace(path)
    return ctypes.CDLL(str(path))


def _version() -> str:
    return subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout


def _processor() -> str:
    """Returns what `-march=native` depends on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
