"""Which sources of this package run in this process: what they compile is theirs alone."""

from __future__ import annotations

import hashlib
import os

from mlir_sparse import _native

__all__ = ["are_known", "have_changed", "look", "stamp"]

# File systems tell times by a clock that ticks a hundred times a second or more.
_TICK = 20_000_000


def look(folder: str = os.path.dirname(os.path.dirname(__file__))) -> tuple[str, int]:
    """Returns what tells the sources in a folder from others, and when the youngest was written, in nanoseconds."""
    found: list[tuple[str, int, int]] = []
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as items:
            for item in items:
                if item.name.endswith(".py"):
                    about = item.stat()
                    found.append((item.path, about.st_mtime_ns, about.st_size))
                elif item.name != "__pycache__" and item.is_dir(follow_symlinks=False):
                    folders.append(item.path)
    built = os.stat(_native.__file__)
    found.append((_native.__file__, built.st_mtime_ns, built.st_size))
    youngest = max(changed for _, changed, _ in found)
    return hashlib.blake2b(repr(sorted(found)).encode(), digest_size=16).hexdigest(), youngest


# Taken when this module is imported, about when the others are: what is edited later is not what runs here.
try:
    _loaded: tuple[str, int] | None = look()
except OSError:
    _loaded = None  # they lie in an archive, which has no times


def are_known() -> bool:
    """Returns whether the modules of this process are surely those that were looked at: all older than the process."""
    return _loaded is not None and _loaded[1] < _native.loaded_at - _TICK


def have_changed() -> bool:
    """Returns whether sources were edited since: the compiler's process may run others than this one."""
    try:
        return look() != _loaded
    except OSError:
        return True


def stamp() -> str:
    """Returns what tells the sources from others: their paths, times and sizes, as Python itself goes by."""
    return _loaded[0] if _loaded else ""
