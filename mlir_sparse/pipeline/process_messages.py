"""What the compiler's process and its parent say to each other: pickled values, each behind its length."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from mlir_sparse.loops.remarks import Remark

__all__ = ["PassOutcome", "PassRequest", "read_message", "write_message"]

_HEADER = struct.Struct("<Q")  # the length in bytes


@dataclass(frozen=True, slots=True)
class PassRequest:
    """What to make of a module.

    Args:
        module: the module, as bytecode.
        pipeline: the passes to run.
        as_text: whether to answer with text.
        functions: the functions to answer with machine code of, an object file; if none, with the module.
        variables: the index variables of each function's loops, to answer with the remarks of strategies alone.
    """

    module: bytes
    pipeline: str
    as_text: bool = False
    functions: tuple[str, ...] = ()
    variables: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class PassOutcome:
    """What became of a module.

    Args:
        module: the lowered module as bytecode, or as text when text was asked for; None after an error.
        remarks: what strategies say, where that was asked for.
        diagnostics: MLIR's words, empty on success.
        refusal: what is said of a module that one of our passes refuses, and how to do without.
    """

    module: bytes | None
    remarks: tuple[Remark, ...] = ()
    diagnostics: str = ""
    refusal: str = ""


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
