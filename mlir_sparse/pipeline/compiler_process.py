"""The compiler in a separate process, so that its death is an exception here.

The sparsifier may crash on harmless input, and a segmentation fault in the user's process cannot be caught. One worker
is kept warm and restarted after its death; threads take turns. The child of a fork starts a new worker.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO

from mlir_sparse._mlir import bindings_name, death_in_probe, unfit_error
from mlir_sparse.errors import CompileError, CompilerCrash, SettingError, UnsupportedError
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.pipeline.pass_values import Pipeline
from mlir_sparse.pipeline.process_messages import (
    ModuleOutcome,
    ModuleRequest,
    PassOutcome,
    PassRequest,
    TraceOutcome,
    TraceRequest,
    read_message,
    write_message,
)
from mlir_sparse.process import settings
from mlir_sparse.process.compiler_interpreter import command, environment, interpreter
from mlir_sparse.process.forks import Lock, importing, no_fork
from mlir_sparse.process.progress import progress
from mlir_sparse.process.start_process import WRONG_PYTHON
from mlir_sparse.program.loop_form import NestLoops

__all__ = ["answer_of", "compile_module", "remarks_on", "warm_up"]

_LONGEST_WORDS = 8000  # bytes of what a worker said before it died

Request = PassRequest | ModuleRequest | TraceRequest
Outcome = PassOutcome | ModuleOutcome | TraceOutcome


class _Worker:
    """A process that compiles.

    Pipes and log are unbuffered: the child of a fork closes them in any state.

    Args:
        limits: the limits from `_limits`.
    """

    def __init__(self, limits: tuple[str, int]) -> None:
        self.limits = limits
        self.bindings = bindings_name()
        self.has_answered = False
        python, memory = limits
        with no_fork():  # a fork would leave the pipes open in the child
            self.log = _unnamed_file()
            self.process = subprocess.Popen(
                command(python, self.bindings, "mlir_sparse.pipeline.worker", memory),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                env=environment(self.bindings),
                cwd=os.sep,  # not the user's folder, whose files and libraries the compiler must not load
                # Ctrl-C in a terminal goes to the whole group; the worker must survive it
                start_new_session=True,
            )

    def ask(
        self, request: Request, timeout: float, meanwhile: Callable[[], object] | None, hear: Callable[[object], object]
    ) -> Outcome | str:
        """Returns the answer, or how the worker ended; `hear` takes what it tells before."""
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
            while answer is not None and not isinstance(answer, Outcome):
                self.has_answered = True
                hear(answer)
                answer = read_message(self.process.stdout)
        except BrokenPipeError:
            answer = None
        finally:
            timer.cancel()
        if isinstance(answer, Outcome):
            self.has_answered = True
            return answer
        return (
            f"ran past {timeout:g} s ({settings.COMPILE_TIMEOUT.name} sets the limit)"
            if timed_out.is_set()
            else self._death()
        )

    def _death(self) -> str:
        code = self.process.wait()
        self.log.seek(max(0, self.log.tell() - _LONGEST_WORDS))
        said = self.log.read().decode(errors="replace").strip()
        missing = None if self.has_answered else death_in_probe(code, said)
        if missing is not None:
            raise unfit_error(self.bindings, missing)
        said = said[-500:]
        python, _ = self.limits
        if code == WRONG_PYTHON:
            raise SettingError(
                f"expected the Python of this process to run the compiler with, but {said}: "
                f"set {settings.PYTHON.name} to one of the same version"
            )
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}: {said}"
        return how if self.has_answered else f"{how} (before it answered; {python} runs it)"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()


def _unnamed_file() -> IO[bytes]:
    """Returns an unbuffered file without a name, in memory where the system has such."""
    with contextlib.suppress(AttributeError, OSError):
        return os.fdopen(os.memfd_create("mlir_sparse"), "w+b", buffering=0)
    import tempfile  # it loads modules of compression

    return tempfile.TemporaryFile(buffering=0)


_lock = Lock()
_worker: _Worker | None = None


def _limits() -> tuple[str, int]:
    """Returns the worker's interpreter, and its memory limit in bytes."""
    return interpreter(), settings.COMPILE_MEMORY.value


def warm_up() -> None:
    """Starts the worker ahead of the first compilation (about 0.3 s, in the background)."""
    if _lock.locked():
        return  # it works for another thread: do not wait
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
    """Lowers a module in the worker, if wanted to machine code.

    Args:
        module: bytecode of a verified module.
        pipeline: the passes to run.
        kernel: the assignment, for messages.
        as_text: whether to return MLIR text instead of bytecode.
        functions: if any, return an object file with these functions instead.
        meanwhile: a function to call while a warm worker compiles; it is not called with a new worker.

    Raises:
        UnsupportedError: if one of our passes refuses the module, with a way out.
        CompileError: if a pass fails, with MLIR's diagnostics.
        CompilerCrash: if the compiler dies, hangs or runs out of memory.
    """
    outcome = _outcome(PassRequest(module, str(pipeline), as_text, functions), kernel, meanwhile)
    assert outcome.module is not None
    return outcome.module


def remarks_on(
    module: bytes, pipeline: Pipeline, expected: Mapping[str, NestLoops], *, kernel: str
) -> tuple[Remark, ...]:
    """Returns the remarks of a pipeline's strategies on a module, which is lowered to loops only.

    Args:
        module: bytecode of a verified module.
        pipeline: the passes that compile it.
        expected: the loops of each function, as the plan expects them.
        kernel: the assignment, for messages.

    Raises:
        UnsupportedError, CompileError, CompilerCrash: as for `compile_module`.
    """
    request = PassRequest(module, str(pipeline.through_optional()), expected=expected)
    return _outcome(request, kernel).remarks


def _outcome(request: PassRequest, kernel: str, meanwhile: Callable[[], object] | None = None) -> PassOutcome:
    """Returns the worker's outcome of a request; raises on failure."""
    outcome = answer_of(request, meanwhile)
    assert not isinstance(outcome, ModuleOutcome | TraceOutcome)
    if isinstance(outcome, PassOutcome) and outcome.module is not None:
        return outcome
    if isinstance(outcome, PassOutcome) and outcome.refusal:
        raise UnsupportedError(outcome.refusal)
    with importing():
        from mlir_sparse.pipeline.reproducer import write_reproducer  # what most processes never need

    reproducer = write_reproducer(request.module, request.pipeline, kernel, request.functions)
    if isinstance(outcome, str):
        message = f"expected MLIR to lower the kernel, but the compiler {outcome}"
        raise CompilerCrash(message, kernel=kernel, pipeline=request.pipeline, reproducer=reproducer)
    message = f"expected MLIR to lower the kernel, but got:\n{outcome.diagnostics}"
    raise CompileError(message, kernel=kernel, pipeline=request.pipeline, reproducer=reproducer)


def answer_of(
    request: Request, meanwhile: Callable[[], object] | None = None, hear: Callable[[object], object] = bool
) -> Outcome | str:
    """Returns the worker's answer to a request, or how the worker ended.

    Args:
        request: what to compile.
        meanwhile: a function to call while a warm worker compiles.
        hear: takes what the worker tells before it answers.
    """
    timeout = settings.COMPILE_TIMEOUT.value
    with _lock:
        worker = _current_worker()
        try:
            with progress("compiling"):
                outcome = worker.ask(request, timeout, meanwhile, hear)
        except BaseException:
            _discard()  # after an interrupt the pipe may have half an answer
            raise
        if isinstance(outcome, str):
            _discard()
    return outcome


def _current_worker() -> _Worker:
    global _worker
    limits = _limits()
    if _worker is not None and (_worker.limits != limits or _worker.process.poll() is not None):
        _discard()
    if _worker is None:
        _worker = _Worker(limits)
    return _worker


def _discard() -> None:
    global _worker
    worker, _worker = _worker, None
    if worker is not None:
        worker.stop()


def _leave_to_parent() -> None:
    """Closes the parent's worker in the child of a fork: an open pipe here would keep it alive."""
    global _worker
    if _worker is not None:
        _worker.close()
        _worker.process.returncode = 0  # the parent waits for it
    _worker = None


os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_discard)
