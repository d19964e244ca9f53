"""The messages between the compiler's process and its parent: pickled values, each after its length."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping, Sequence
from typing import IO

from mlir_sparse.classes import dataclass
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.program.loop_form import NestLoops
from mlir_sparse.text.line_places import LinePlace

__all__ = [
    "DeclaredFunction",
    "Diagnostic",
    "ModuleOutcome",
    "ModuleRequest",
    "PassOutcome",
    "PassRequest",
    "PassSnapshot",
    "TraceOutcome",
    "TraceRequest",
    "read_message",
    "write_message",
]

_HEADER = struct.Struct("<Q")  # the length in bytes


@dataclass(frozen=True, slots=True)
class PassRequest:
    """A request to lower a module.

    Args:
        module: the module, as bytecode.
        pipeline: the passes to run.
        as_text: whether to answer with text.
        functions: the functions to return as an object file; if none, the module is returned.
        expected: the loops of each function as the plan expects them, to return the remarks of strategies only.
    """

    module: bytes
    pipeline: str
    as_text: bool = False
    functions: tuple[str, ...] = ()
    expected: Mapping[str, NestLoops] | None = None


@dataclass(frozen=True, slots=True)
class PassOutcome:
    """The outcome of a request.

    Args:
        module: the lowered module as bytecode or text; None after an error.
        remarks: the remarks of strategies, if requested.
        diagnostics: MLIR's diagnostics, empty on success.
        refusal: the message of one of our passes that refuses the module, with a way out.
    """

    module: bytes | None
    remarks: tuple[Remark, ...] = ()
    diagnostics: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ModuleRequest:
    """A request to compile a module that a user wrote.

    Args:
        module: its text or bytecode.
        to_buffers: the passes after which every tensor is memory.
        to_llvm: those after them.
        as_object: whether to answer with an object file, not with bytecode of the LLVM dialect.
    """

    module: bytes
    to_buffers: str
    to_llvm: str
    as_object: bool = True


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request to run passes one by one, and to tell of each.

    Args:
        module: the module, as text or bytecode.
        items: passes and pipelines in MLIR's syntax.
        variables: for each function the places of its loops' index variables; none for modules that users wrote.
        nests: whether passes stand without what they run on, as users write them, and pipelines by their names.
    """

    module: bytes
    items: tuple[str, ...]
    variables: Mapping[str, Sequence[LinePlace | None]]
    nests: bool = False


@dataclass(frozen=True, slots=True)
class PassSnapshot:
    """What the worker tells of a pass before it runs the next: the module after it.

    Args:
        item: the pass in MLIR's syntax; "" for the module before all passes.
        text: the module as MLIR prints it.
        seconds: the time that the pass took.
        places: for each line of the text the places that it comes from, by debug locations.
    """

    item: str
    text: str
    seconds: float
    places: tuple[tuple[LinePlace, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TraceOutcome:
    """The outcome of a TraceRequest, after its snapshots.

    Args:
        items: the passes that it was to run, one by one.
        diagnostics: MLIR's, if it refuses the module, or a pass failed.
        is_valid: whether the module parsed and verified.
        refusal: the message of one of our passes that refuses the module, or of a pass that is not there.
    """

    items: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_valid: bool = True
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A public function of a module.

    Args:
        name: its symbol.
        inputs: the types of its parameters, as MLIR prints them.
        results: those of its results.
        effects: what it does to each memref that its parameters become: 0 reads it, 1 may write to it, 2 may free it.
    """

    name: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    effects: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A diagnostic of MLIR's.

    Args:
        severity: error, warning, remark or note.
        message: its text.
        line: the line of the module's text, from 1; 0 where MLIR names none.
        column: likewise.
        notes: what belongs to it.
    """

    severity: str
    message: str
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleOutcome:
    """The outcome of a ModuleRequest.

    Args:
        code: the machine code of the public functions as an object file, or the module; None after an error.
        functions: the public functions.
        diagnostics: MLIR's, if it refuses the module.
        is_valid: whether the module parsed and verified: else the mistake is in its text.
        missing: functions that the module declares and calls, and that nothing defines.
    """

    code: bytes | None
    functions: tuple[DeclaredFunction, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_valid: bool = True
    missing: tuple[str, ...] = ()


def read_message(stream: IO[bytes]) -> object | None:
    """Reads one message; None at the end of the stream."""
    header = _exactly(stream, _HEADER.size)
    if header is None:
        return None
    body = _exactly(stream, *_HEADER.unpack(header))
    return None if body is None else pickle.loads(body)


def _exactly(stream: IO[bytes], length: int) -> bytes | None:
    """Returns a number of bytes of a stream, read in parts if necessary; None if it ends before."""
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
        left = left[stream.write(left) :]  # a pipe may accept only a part
    stream.flush()
