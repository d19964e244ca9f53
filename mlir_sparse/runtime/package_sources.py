"""The sources of this package that run in this process, which are a part of each cache key."""

from __future__ import annotations

import os
from functools import cache

from mlir_sparse import _native
from mlir_sparse.disk.fingerprint import blake2b

__all__ = ["are_known", "have_changed", "look", "portable_stamp", "stamp"]

# Times of files have a resolution of 10 ms or better.
_TICK = 20_000_000


_HERE = os.path.dirname(os.path.dirname(__file__))


def look(folder: str = _HERE) -> tuple[str, int]:
    """Returns an identity of the sources in a folder, and the newest time of writing in nanoseconds."""
    found, youngest = _native.source_files(folder, _native.__file__)
    return blake2b(found, digest_size=16).hexdigest(), youngest


# Computed when this module is imported, about when the others are: later edits do not run here.
try:
    _loaded: tuple[str, int] | None = look()
except OSError:
    _loaded = None  # an archive has no times of files


def are_known() -> bool:
    """Returns whether this process certainly runs those sources: all are older than the process."""
    return _loaded is not None and _loaded[1] < _native.loaded_at - _TICK


def have_changed() -> bool:
    """Returns whether sources were edited since: the compiler's process may run newer ones."""
    try:
        return look() != _loaded
    except OSError:
        return True


def stamp() -> str:
    """Returns an identity of the sources: their paths, times and sizes, which Python itself relies on."""
    return _loaded[0] if _loaded else ""


@cache
def portable_stamp() -> str:
    """Returns an identity of the sources that another machine with the same ones has too: names and sizes.

    "" where sources have none, as in an archive.
    """
    try:
        parts = _native.source_files(_HERE, _native.__file__)[0].split(b"\0")  # path, time and size of each
    except OSError:
        return ""
    found = sorted(
        (_within(os.fsdecode(path)), int(size)) for path, size in zip(parts[:-1:3], parts[2::3], strict=True)
    )
    return blake2b(repr(found).encode(), digest_size=16).hexdigest()


def _within(path: str) -> str:
    """Returns the path of a source below this package's folder; of one that is elsewhere, from there."""
    inside = path.startswith(_HERE + os.sep)
    return path[len(_HERE) + 1 :] if inside else os.path.relpath(path, _HERE)
