"""The compiler in a process of its own, so that its death is an exception here.

The sparsifier is known to crash on input that looks harmless, and a
segmentation fault in the user's process cannot be caught. One worker is kept
warm and restarted when it dies; calls from several threads take turns.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO

from mlir_sparse.errors import CompileError, CompilerCrash, UnsupportedError
from mlir_sparse.pipeline.passes import Pipeline
from mlir_sparse.pipeline.reproducer import write_reproducer
from mlir_sparse.pipeline.run import Outcome, Request
from mlir_sparse.pipeline.worker import read_message, write_message

__all__ = ["compile_module", "warm_up"]

TIMEOUT_ENVIRONMENT = "MLIR_SPARSE_COMPILE_TIMEOUT"
MEMORY_ENVIRONMENT = "MLIR_SPARSE_COMPILE_MEMORY"
_DEFAULT_TIMEOUT = 60.0  # seconds; the slowest compilation measured takes under one
_DEFAULT_MEMORY = 8 << 30  # bytes


class _Worker:
    def __init__(self) -> None:
        limit = os.environ.get(MEMORY_ENVIRONMENT, str(_DEFAULT_MEMORY))
        self.has_answered = False
        self.log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mlir_sparse.pipeline.worker", limit],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            # Ctrl-C in a terminal goes to the whole group; the worker lives on for the next call.
            start_new_session=True,
        )

    def ask(self, request: Request, timeout: float, meanwhile: Callable[[], object] | None = None) -> Outcome | str:
        """Returns the answer, or how the worker ended without one."""
        timed_out = threading.Event()

        def expire() -> None:
            timed_out.set()
            self.process.kill()

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            write_message(self.process.stdin, request)
            if meanwhile is not None and self.has_answered:
                meanwhile()
            answer = read_message(self.process.stdout)
        except BrokenPipeError:
            answer = None
        finally:
            timer.cancel()
        if isinstance(answer, Outcome):
            self.has_answered = True
            return answer
        return f"ran past {timeout:g} s ({TIMEOUT_ENVIRONMENT} sets the limit)" if timed_out.is_set() else self._death()

    def _death(self) -> str:
        code = self.process.wait()
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        self.log.seek(max(0, self.log.tell() - 500))
        return f"ended with status {code}: {self.log.read().decode(errors='replace').strip()}"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # unsent bytes of a worker that died
                    stream.close()


_lock = threading.Lock()
_worker: _Worker | None = None
_owner = 0


def warm_up() -> None:
    """Starts the worker ahead of the first compilation (about 0.3 s, in the background)."""
    with _lock:
        _current_worker()


def compile_module(
    module: bytes,
    pipeline: Pipeline,
    *,
    kernel: str,
    as_text: bool = False,
    functions: tuple[str, ...] = (),
    meanwhile: Callable[[], object] | None = None,
) -> bytes:
    """Lowers a module in the worker, also down to machine code.

    Args:
        module: bytecode of a verified module.
        pipeline: the passes to run.
        kernel: the assignment, for messages.
        as_text: whether to return MLIR text instead of bytecode.
        functions: if any, return an object file with these functions instead.
        meanwhile: what to do while a worker is at it that has all loaded that it needs: not with a new one.

    Raises:
        UnsupportedError: when one of our passes refuses the module, and says how to do without.
        CompileError: when a pass fails, with MLIR's diagnostics.
        CompilerCrash: when the compiler dies, hangs or runs out of memory.
    """
    timeout = float(os.environ.get(TIMEOUT_ENVIRONMENT, _DEFAULT_TIMEOUT))
    with _lock:
        worker = _current_worker()
        try:
            outcome = worker.ask(Request(module, str(pipeline), as_text, functions), timeout, meanwhile)
        except BaseException:
            _discard()  # an interrupt left half an answer in the pipe
            raise
        if isinstance(outcome, str):
            _discard()
    if isinstance(outcome, Outcome) and outcome.module is not None:
        return outcome.module
    if isinstance(outcome, Outcome) and outcome.refusal:
        raise UnsupportedError(outcome.refusal)
    reproducer = write_reproducer(module, str(pipeline), kernel, functions)
    if isinstance(outcome, str):
        message = f"expected MLIR to lower the kernel, but the compiler {outcome}"
        raise CompilerCrash(message, kernel=kernel, pipeline=str(pipeline), reproducer=reproducer)
    message = f"expected MLIR to lower the kernel, but got:\n{outcome.diagnostics}"
    raise CompileError(message, kernel=kernel, pipeline=str(pipeline), reproducer=reproducer)


def _current_worker() -> _Worker:
    global _worker, _owner
    # After a fork the child shares the parent's pipes; it must not use them.
    if _worker is None or _owner != os.getpid() or _worker.process.poll() is not None:
        _worker, _owner = _Worker(), os.getpid()
    return _worker


def _discard() -> None:
    global _worker
    if _worker is not None and _owner == os.getpid():
        _worker.stop()
    _worker = None


atexit.register(_discard)
