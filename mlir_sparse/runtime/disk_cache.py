"""Compiled kernels on disk, for later processes.

An entry is a file: a checksum, the whole key, the steps and the code: an object file, or a module in the LLVM dialect
where the native loader takes no objects. It appears by renaming, so that readers see all of it or nothing, for any
number of writers. There is no lock that a dying process could leave behind. Truncated entries, and those of other users
or other sources of this package, are ignored and never run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mlir_sparse.disk import PARTIAL, write_whole
from mlir_sparse.disk.fingerprint import blake2b
from mlir_sparse.encoding import Encoding
from mlir_sparse.process import settings
from mlir_sparse.program import ProgramSteps, read_steps, write_steps
from mlir_sparse.runtime import package_sources
from mlir_sparse.runtime.machine_code import Machine, is_module, kept_machine

__all__ = [
    "PLANS",
    "cache_folder",
    "cache_state",
    "fetch",
    "fetch_entry",
    "sources_changed",
    "store",
    "store_entry",
]

_MAGIC = b"MLIRSPK1"
_HEADER = struct.Struct("<8s32sIII")  # magic, checksum of all that follows it, lengths of key, steps and code
_CHECKED_FROM = 40
_SUFFIX = ".kernel"
PLANS = ".plans"
"""How names of files with plans of statements end, which have no code."""
_MOST_BYTES = 256 << 20  # for all entries
_LARGEST = 16 << 20  # for one entry
_SELDOM = 32  # entries that a process writes between two checks of the size
_HOUR = 3600.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> str | None:
    """Returns the folder of compiled kernels, which may not exist yet; None if none are kept."""
    return settings.user_folder()


def _is_trusted(about: os.stat_result) -> bool:
    """Returns whether only this user and the superuser can have written a file."""
    return about.st_uid == os.geteuid() and not about.st_mode & _OTHERS_WRITE


def _usable(folder: str | None) -> str:
    """Returns why kernels are not kept in a folder; "" if they are."""
    if folder is None:
        return "off"
    if not package_sources.are_known():
        return f"off: sources of the package changed while it was loaded ({folder})"
    try:
        about = os.stat(folder)
    except OSError as error:
        return "" if isinstance(error, FileNotFoundError) else f"off: {error}"
    if not stat.S_ISDIR(about.st_mode):
        return f"off: no folder at {folder}"
    return "" if _is_trusted(about) else f"off: others own {folder}, or may write to it"


def _path_of(folder: str, key: str, suffix: str = _SUFFIX) -> str:
    return os.path.join(folder, blake2b(key.encode(), digest_size=20).hexdigest() + suffix)


def _complete(key: str) -> str:
    """Returns a key extended by the sources of this package, which decide the code."""
    return f"{package_sources.stamp()}\n{key}"


def fetch(key: str, known: Sequence[Encoding | None]) -> tuple[ProgramSteps, Machine] | None:
    """Returns the kernel of a key, ready to be linked, or None.

    Args:
        key: everything that decides the kernel, except the sources of this package.
        known: the encodings passed to `store`.
    """
    parts = fetch_entry(key)
    if parts is None:
        return None
    try:
        program = read_steps(parts[0], known)
        return program, kept_machine(parts[1], program.functions)
    except (ValueError, RuntimeError, MemoryError):
        return None


def fetch_entry(key: str, suffix: str = _SUFFIX) -> tuple[bytes, bytes] | None:
    """Returns the text and the code that `store_entry` kept for a key and a suffix of names of files, or None."""
    folder = cache_folder()
    if folder is None or _usable(folder):
        return None
    key = _complete(key)
    content = _read(_path_of(folder, key, suffix))
    return None if content is None else _parts(content, key)


def _read(path: str) -> bytes | None:
    """Returns the bytes of a file of this user's, and notes its use."""
    try:
        # Do not follow links, and do not wait for pipes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or not _is_trusted(about) or about.st_size > _LARGEST + _HEADER.size:
            return None
        content = os.read(descriptor, about.st_size + 1)
        if time.time() - about.st_mtime > _HOUR:
            with contextlib.suppress(OSError):  # in a read-only folder entries stay in the order of writing
                os.utime(descriptor)
        return content
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _parts(content: bytes, key: str) -> tuple[bytes, bytes] | None:
    """Returns the steps and the code of an entry; None for a truncated entry, or one of another key."""
    if len(content) < _HEADER.size:
        return None
    magic, checksum, *lengths = _HEADER.unpack_from(content)
    checked = memoryview(content)[_CHECKED_FROM:]
    if magic != _MAGIC or _HEADER.size + sum(lengths) != len(content):
        return None
    if blake2b(checked, digest_size=32).digest() != checksum:
        return None
    ends = [_HEADER.size + sum(lengths[:count]) for count in range(4)]
    named, steps, code = (content[start:end] for start, end in pairwise(ends))
    return (steps, code) if named == key.encode() else None


def sources_changed() -> bool:
    """Returns whether sources of this package were edited since this process loaded them, in a millisecond.

    Call it after the compiler's process has loaded its sources, which may be newer.
    """
    folder = cache_folder()
    return folder is not None and package_sources.have_changed()


def store(
    key: str, known: Sequence[Encoding | None], program: ProgramSteps, machine: Machine, *, changed: bool = False
) -> None:
    """Keeps a kernel for other processes, if possible.

    Args:
        key: as for `fetch`.
        known: likewise.
        program: the steps of the program.
        machine: the code of its functions.
        changed: whether the kernel may come from other sources than those in the key.
    """
    if cache_folder() is None or not program.functions or changed:
        return
    store_entry(key, write_steps(program, known).encode(), machine.kept_code(), program.functions)


def store_entry(key: str, text: bytes, code: bytes, functions: Sequence[str], suffix: str = _SUFFIX) -> None:
    """Keeps a text, and code with some functions as `kept_machine` takes it, for other processes, if possible.

    Args:
        key: as for `fetch`.
        text: the text.
        code: the code; none where there are no functions.
        functions: the names of the functions.
        suffix: how the name of the file ends.
    """
    folder = cache_folder()
    if folder is None or _usable(folder):
        return
    key = _complete(key)
    named = key.encode()
    if len(named) + len(text) + len(code) > _LARGEST:
        return
    if code and not (is_module(code) or _loads(code, functions)):
        return
    checked = struct.pack("<III", len(named), len(text), len(code)) + named + text + code
    checksum = blake2b(checked, digest_size=32).digest()
    with contextlib.suppress(OSError):  # a full disk, a folder that is read only
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _usable(folder):
            write_whole(_path_of(folder, key, suffix), _MAGIC + checksum + checked, private=True)
            _trim_seldom(folder)


def _loads(code: bytes, functions: Sequence[str]) -> bool:
    try:
        kept_machine(code, functions)
    except (ValueError, RuntimeError, MemoryError):
        return False
    return True


_written = 0


def _trim_seldom(folder: str) -> None:
    global _written
    if _written % _SELDOM == 0:
        _trim(folder)
    _written += 1


def _entries(folder: str) -> Iterator[tuple[float, int, str]]:
    """Yields the time of the last use, the bytes and the path of each entry."""
    with contextlib.suppress(OSError), os.scandir(folder) as items:
        for item in items:
            if item.name.endswith((_SUFFIX, PLANS)) or item.name.startswith(PARTIAL):
                with contextlib.suppress(OSError):  # removed meanwhile
                    about = item.stat(follow_symlinks=False)
                    yield about.st_mtime, about.st_size, item.path


def _trim(folder: str) -> None:
    """Removes the least recently used entries if there are too many, and unfinished files of dead processes."""
    total, kept = 0, []
    for used, size, path in _entries(folder):
        if os.path.basename(path).startswith(PARTIAL):
            if used < time.time() - _HOUR:
                _remove(path)
            continue
        total += size
        kept.append((used, size, path))
    if total <= _MOST_BYTES:
        return
    for _, size, path in sorted(kept):
        _remove(path)
        total -= size
        if total <= _MOST_BYTES * 3 // 4:
            return


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # another process was first
        os.unlink(path)


def cache_state() -> str:
    """Returns a text about the cache: its folder, number of kernels and bytes, or why none are kept."""
    folder = cache_folder()
    reason = _usable(folder)
    if reason or folder is None:
        return reason
    sizes = [size for _, size, path in _entries(folder) if path.endswith(_SUFFIX)]
    return f"{folder}, {len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB of at most {_MOST_BYTES / 1e6:.0f}"
