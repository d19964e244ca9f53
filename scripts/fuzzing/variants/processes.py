"""Variants of a kernel's origin: the cache on disk, a file, a pickle, another thread, a child after a fork."""

from __future__ import annotations

import os
import pickle
import select
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.notation import Assignment

__all__ = ["VARIANTS"]

# A starting compiler takes a second or two on a busy machine; after this time a child hangs.
_CHILD_TIMEOUT = 60.0


def _kernel(call: Call) -> ms.Kernel:
    """Returns the kernel of a call; one kernel at least is what a statement is."""
    program = call.program
    kernel = ms.compile(program, tensors=call.operands, **call.options)
    if not isinstance(kernel, ms.Kernel):
        raise NotApplicableError
    return kernel


def _called(kernel: Any, call: Call) -> Results:
    return (kernel(*(call.operands[name] for name in kernel.parameters)),)


def _anew(kernel: ms.Kernel) -> ms.Kernel:
    """Returns a kernel that has compiled nothing yet."""
    return ms.Kernel(kernel.spec, kernel.schedule).within(kernel.threads, kernel.deterministic)


@contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    before = os.environ.get("MLIR_SPARSE_CACHE")
    os.environ["MLIR_SPARSE_CACHE"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["MLIR_SPARSE_CACHE"]
        else:
            os.environ["MLIR_SPARSE_CACHE"] = before


def _from_cache(call: Call, random: Random) -> Results:
    kernel = _kernel(call)
    with tempfile.TemporaryDirectory() as folder, _cache_in(folder):
        os.chmod(folder, 0o700)
        _called(_anew(kernel), call)
        return _called(_anew(kernel), call)


def _from_file(call: Call, random: Random) -> Results:
    kernel = _kernel(call)
    _called(kernel, call)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, random.choice(("k.msk", "é ü.msk", "no suffix")))
        kernel.save(path)
        return _called(ms.load(path), call)


def _pickled(call: Call, random: Random) -> Results:
    if not isinstance(call.program, Assignment) or len(call.tensors) != len(call.operands):
        raise NotApplicableError
    return _called(pickle.loads(pickle.dumps(_kernel(call))), call)


def _by_position_and_name(call: Call, random: Random) -> Results:
    """Makes the call by a kernel that has been called before, by name."""
    kernel = _kernel(call)
    _called(kernel, call)
    return (kernel(**{name: call.operands[name] for name in kernel.parameters}),)


def _on_a_thread(call: Call, random: Random) -> Results:
    found: list[Results] = []
    thread = threading.Thread(target=lambda: found.append(call.results()))
    thread.start()
    thread.join()
    assert found, "the thread ended without a result"
    return found[0]


def _answered(work: Callable[[], Results]) -> bytes:
    try:
        return pickle.dumps(work())
    except BaseException as error:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))


def _in_child(work: Callable[[], Results]) -> Results:
    """Returns what a child of this process makes of some work.

    Raises:
        AssertionError: for a child that dies, or hangs.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # nothing of what this process would do at its end is done here
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_answered(work))
        os._exit(0)
    os.close(writing)
    content = b""
    try:
        while select.select([reading], [], [], _CHILD_TIMEOUT)[0]:
            if not (part := os.read(reading, 1 << 20)):
                break
            content += part
        else:
            os.kill(child, signal.SIGKILL)
            raise AssertionError(f"the child has no answer after {_CHILD_TIMEOUT:.0f} s")
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    assert content, f"the child ended with status {status}"
    found = pickle.loads(content)
    assert isinstance(found, tuple), str(found)
    return found


def _after_fork(call: Call, random: Random) -> Results:
    """Makes the call in a child that has the kernel already, on threads of its own."""
    return _in_child(replace(call, threads=random.choice((1, 2, 3))).results)


def _compiled_after_fork(call: Call, random: Random) -> Results:
    """Makes the call in a child that compiles the kernel, made while another thread of this process compiles."""
    kernel = _anew(_kernel(call))
    other = ms.compile(f"y(i) = x(i) * {random.randrange(1 << 40)}", x="f64[?]")
    busy = threading.Thread(target=lambda: other.ir("llvm"))
    busy.start()
    try:
        return _in_child(lambda: _called(kernel, call))
    finally:
        busy.join()


VARIANTS = (
    Variant("from the cache on disk", _from_cache, 0.02, compiles=True, same_bits=True),
    Variant("from a file", _from_file, 0.02, compiles=True, same_bits=True),
    Variant("kernel through pickle", _pickled, 0.01, compiles=True, same_bits=True),
    Variant("kernel by name", _by_position_and_name, 0.05, same_bits=True),
    Variant("on another thread", _on_a_thread, 0.05, same_bits=True),
    Variant("after fork", _after_fork, 0.01),
    # A child starts a compiler of its own.
    Variant("compiled after fork", _compiled_after_fork, 0.003, of_all=0.05, compiles=True, same_bits=True),
)
