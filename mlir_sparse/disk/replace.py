"""Files that appear whole or not at all.

Content goes to a new file with a random name beside the target. When it is complete, it takes the target's name.
Readers see all of the old file or all of the new one. Writers do not wait for each other: the last one wins. A writer
that is killed leaves a file `.partial-*`, which nothing reads.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from mlir_sparse.text.given_arguments import path_of

__all__ = ["PARTIAL", "replacing", "write_whole"]

PARTIAL = ".partial-"
"""What names of unfinished files begin with."""

# Folders of a process' open files. Their links give names that may be gone, or name another file by now.
_DESCRIPTORS = r"/dev/fd|/proc/(\d+)(?:/task/\d+)?/fd"
_MOST_LINKS = 40
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """Opens a file to write; it takes its name at the end of the block, and is removed if the block raises.

    Symbolic links are followed. A new file gets the umask's mode, an existing one keeps its mode. A device or a pipe is
    written to directly.

    Args:
        path: the file.
        private: whether only this user may read or write it; it then replaces any file of that name.

    Raises:
        OSError: when it cannot be written; the old file stays.
    """
    name = path_of(path)
    as_it_is = None if private else _opened_as_it_is(name)
    if as_it_is is not None:
        with as_it_is as file:
            yield file
        return
    target = os.path.abspath(name) if private else os.path.realpath(name)
    try:
        descriptor, partial = _new_file_beside(target, private)
    except OSError as error:
        error.filename = name  # what the caller asked for, not what stands for it until it is whole
        raise
    try:
        with _as_file(descriptor, partial) as file:
            yield file
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def write_whole(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Writes a file, whole or not at all (see `replacing`)."""
    with replacing(path, private=private) as file:
        file.write(content)


def _new_file_beside(target: str, private: bool) -> tuple[int, str]:
    """Returns a new file open for writing and its name, with the mode that the target has or would get."""
    # Not the target's name with a suffix: that name may have the greatest length already.
    partial = os.path.join(os.path.dirname(target), f"{PARTIAL}{os.urandom(8).hex()}")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600 if private else 0o666)
    if private:
        return descriptor, partial
    try:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
    except BaseException:
        os.close(descriptor)
        os.unlink(partial)
        raise
    return descriptor, partial


def _opened_as_it_is(name: str) -> IO[bytes] | None:
    """Returns a device, a pipe or the like open for writing; None for a regular file and for no file."""
    descriptor = _own_descriptor(name)
    if descriptor is not None:
        return _as_file(os.dup(descriptor), name)
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISREG(mode) else open(name, "wb")


def _as_file(descriptor: int, name: str) -> IO[bytes]:
    """Returns a file object for a descriptor; its name lets libraries open the file again."""
    return open(name, "wb", opener=lambda *_: descriptor)


def _own_descriptor(name: str) -> int | None:
    """Returns the descriptor of this process that a name such as /dev/stdout leads to; None for other names."""
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(os.path.abspath(name))
        folder = os.path.realpath(folder)
        match = re.fullmatch(_DESCRIPTORS, folder)
        if match is not None:
            ours = match[1] in (None, str(os.getpid())) and last.isdecimal()
            return int(last) if ours else None
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None
