"""Machine code that came with kernels from other processes, so that what runs them there compiles nothing."""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Sequence

from mlir_sparse.disk.fingerprint import blake2b
from mlir_sparse.encoding import Encoding
from mlir_sparse.process.forks import Lock
from mlir_sparse.program import ProgramSteps, read_steps, write_steps
from mlir_sparse.runtime.machine_code import Machine, kept_machine

__all__ = ["SentCode", "fetch_sent", "keep_sent", "to_send"]

SentCode = tuple[bytes, bytes]
"""What decides the code, as a digest; and its steps and itself, compressed."""

_MOST = 1024
_LENGTH = struct.Struct("<I")

_kept: OrderedDict[bytes, bytes] = OrderedDict()
_lock = Lock()


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=20).digest()


def to_send(key: str, known: Sequence[Encoding | None], program: ProgramSteps, machine: Machine) -> SentCode:
    """Returns the code of a kernel for other processes.

    Args:
        key: everything that decides whether the code is that of a kernel in another process too.
        known: the encodings in the key, which steps refer to.
        program: the steps of the program.
        machine: the code of its functions.

    Raises:
        UnsupportedError: for code from a shared library.
    """
    steps = write_steps(program, known).encode()
    return _digest(key), zlib.compress(_LENGTH.pack(len(steps)) + steps + machine.kept_code())


def keep_sent(entries: Sequence[SentCode]) -> None:
    """Keeps code that came with a kernel, for its first call."""
    with _lock:
        for digest, packed in entries:
            _kept[digest] = packed
            _kept.move_to_end(digest)
        while len(_kept) > _MOST:
            _kept.popitem(last=False)


def fetch_sent(key: str, known: Sequence[Encoding | None]) -> tuple[ProgramSteps, Machine] | None:
    """Returns a kernel whose code came from another process, ready to be linked, or None.

    Args:
        key: as for `to_send`.
        known: likewise.
    """
    with _lock:
        packed = _kept.get(_digest(key)) if _kept else None
    if packed is None:
        return None
    content = zlib.decompress(packed)
    (length,) = _LENGTH.unpack_from(content)
    steps, code = content[_LENGTH.size : _LENGTH.size + length], content[_LENGTH.size + length :]
    try:
        program = read_steps(steps, known)
        return program, kept_machine(code, program.functions)
    except (ValueError, RuntimeError, MemoryError):
        return None  # this process compiles
