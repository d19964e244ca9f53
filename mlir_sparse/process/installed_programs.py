"""Programs that are installed beside this package, by LLVM or by CUDA."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys

__all__ = ["find_program"]


def find_program(name: str) -> str | None:
    """Finds a program beside the interpreter, on PATH, or in folders of LLVM and CUDA, newest first."""
    folder = os.path.dirname(sys.executable or "")  # may be empty where Python is embedded
    beside = os.path.join(folder, name) if folder else None
    folders = ("/usr/lib/llvm-*/bin", "/usr/local/cuda*/bin")
    places = sorted((path for folder in folders for path in glob.glob(f"{folder}/{name}")), key=_numbers, reverse=True)
    return next((path for path in [beside, shutil.which(name), *places] if path and os.access(path, os.X_OK)), None)


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]
