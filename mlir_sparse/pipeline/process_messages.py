"""What the compiler's process and its parent say to each other: pickled values, each behind its length."""

from __future__ import annotations

import pickle
import struct
from typing import IO

__all__ = ["read_message", "write_message"]

_HEADER = struct.Struct("<Q")  # the length in bytes


def read_message(stream: IO[bytes]) -> object | None:
    """Reads one message; None at the end of the stream."""
    header = _exactly(stream, _HEADER.size)
    if header is None:
        return None
    body = _exactly(stream, *_HEADER.unpack(header))
    return None if body is None else pickle.loads(body)


def _exactly(stream: IO[bytes], length: int) -> bytes | None:
    """Returns so many bytes of a stream, which may give them piece by piece; None where it ends before."""
    found = bytearray()
    while len(found) < length:
        piece = stream.read(length - len(found))
        if not piece:
            return None
        found += piece
    return bytes(found)


def write_message(stream: IO[bytes], message: object) -> None:
    """Writes one message and flushes."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    left = memoryview(_HEADER.pack(len(body)) + body)
    while left:
        left = left[stream.write(left) :]  # a pipe may take part of it
    stream.flush()
