"""Environment variables of this package: the only module that reads them, each with its type.

A variable is read when it is needed, so that none can break an import. A value of another type is refused with the
variable's name. An empty value counts as not set.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from mlir_sparse._native import is_set
from mlir_sparse.classes import dataclass
from mlir_sparse.errors import SettingError
from mlir_sparse.process.forks import importing

__all__ = [
    "BINDINGS",
    "CACHE",
    "COMPILE_MEMORY",
    "COMPILE_TIMEOUT",
    "LIBDEVICE",
    "MACHINE",
    "NUM_THREADS",
    "OPTIMIZATIONS",
    "OPTIMIZE",
    "PIECE_WORK",
    "PROGRESS",
    "PYTHON",
    "VECTOR_LANES",
    "Setting",
    "refuse",
    "user_folder",
]

T = TypeVar("T")

_MOST = 2**63 - 1
_LANES = (0, 2, 4, 8, 16, 32, 64)
_OFF = "off"
OPTIMIZATIONS = ("auto", "off", "algebra")
"""How statements are optimized: rewritten where another way takes less by estimate, left as they are written, or
rewritten by the rules too that let terms cancel."""


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One environment variable.

    Args:
        name: the variable.
        rule: the values allowed, for messages.
        parse: converts its text to a value; raises ValueError where the rule is broken.
        default: the value where the variable is not set.
    """

    name: str
    rule: str
    parse: Callable[[str], T]
    default: T

    @property
    def text(self) -> str | None:
        """Returns the text of the variable, unchecked; None where it is not set."""
        # Calls of kernels ask, and `os.environ` takes as long as a small call to say that it has no such variable.
        return os.environ.get(self.name) or None if is_set(self.name) else None

    @property
    def value(self) -> T:
        """Returns the value.

        Raises:
            SettingError: for text that breaks the rule.
        """
        text = self.text
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except (ValueError, OSError):
            message = f"expected {self.rule} in the environment variable {self.name}, but got {text!r}"
            raise SettingError(f"{message}: mend it, or unset it for the default") from None


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        # No sign, no underscore, no digits of other scripts: native code reads the number of threads by the same rule.
        if re.fullmatch(r"[0-9]{1,19}", text) is None or not least <= int(text) <= _MOST:
            raise ValueError(text)
        return int(text)

    return parse


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise ValueError(text)
        return text

    return parse


def _seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and 0 < seconds <= threading.TIMEOUT_MAX):
        raise ValueError(text)
    return seconds


def _lanes(text: str) -> int:
    lanes = _whole(0)(text)
    if lanes not in _LANES:
        raise ValueError(text)
    return lanes


def _module(text: str) -> str:
    if not all(part.isidentifier() for part in text.split(".")):
        raise ValueError(text)
    return text


def _file(text: str) -> str:
    if not os.path.isfile(text):
        raise ValueError(text)
    return os.path.abspath(text)


def _program(text: str) -> str:
    with importing():
        import shutil  # it loads three modules of compression, and is asked for by few

    found = shutil.which(text)
    if found is None:
        raise ValueError(text)
    return os.path.abspath(found)


def _folder(text: str) -> str:
    return text if text == _OFF else os.path.abspath(text)


BINDINGS: Setting[str | None] = Setting("MLIR_SPARSE_BINDINGS", "the name of a module", _module, None)
CACHE = Setting("MLIR_SPARSE_CACHE", "a folder or 'off'", _folder, "")
COMPILE_MEMORY = Setting("MLIR_SPARSE_COMPILE_MEMORY", "a whole number of bytes above 0", _whole(1), 8 << 30)
# The slowest compilation measured took less than a second.
COMPILE_TIMEOUT = Setting("MLIR_SPARSE_COMPILE_TIMEOUT", "a number of seconds above 0", _seconds, 60.0)
LIBDEVICE: Setting[str | None] = Setting("MLIR_SPARSE_LIBDEVICE", "the path of a file", _file, None)
MACHINE: Setting[str | None] = Setting("MLIR_SPARSE_MACHINE", "the name of a profile or of its file", str, None)
OPTIMIZE = Setting(
    "MLIR_SPARSE_OPTIMIZE", f"one of {', '.join(OPTIMIZATIONS)}", _one_of(*OPTIMIZATIONS), OPTIMIZATIONS[0]
)
# Native code reads these two in each call; 0 stands for the machine's number.
NUM_THREADS = Setting("MLIR_SPARSE_NUM_THREADS", "a whole number of threads above 0", _whole(1), 0)
PIECE_WORK = Setting("MLIR_SPARSE_PIECE_WORK", "a whole number of entries above 0", _whole(1), 0)
PROGRESS = Setting("MLIR_SPARSE_PROGRESS", "'auto' or 'off'", _one_of("auto", _OFF), "auto")
PYTHON: Setting[str | None] = Setting("MLIR_SPARSE_PYTHON", "a Python interpreter", _program, None)
VECTOR_LANES: Setting[int | None] = Setting(
    "MLIR_SPARSE_VECTOR_LANES", f"a number of lanes among {', '.join(map(str, _LANES))}", _lanes, None
)


def refuse(name: str) -> None:
    """Raises SettingError for a variable that native code refused.

    Raises:
        SettingError: always, unless the variable changed since.
    """
    for setting in (NUM_THREADS, PIECE_WORK):
        if setting.name == name:
            _ = setting.value


def user_folder() -> str | None:
    """Returns the folder of files kept between processes, which may not exist yet; None where nothing is kept."""
    folder = CACHE.value
    if folder:
        return None if folder == _OFF else folder
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "mlir_sparse") if os.path.isabs(base) else None
