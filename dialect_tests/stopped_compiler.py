"""A compiler that never answers, so that a test of the time limit waits for no race."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from mlir_sparse.pipeline import compiler_process

__all__ = ["compiler_that_never_answers"]


@contextmanager
def compiler_that_never_answers() -> Iterator[None]:
    """Stops this process's compiler: it neither answers nor dies, until it is killed or the context ends.

    It takes the fixture `new_compilers`: what stands for a compiler that is a fork may stop while the fork answers.
    """
    compiler_process.warm_up()
    worker = compiler_process._worker
    assert worker is not None
    os.kill(worker.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if worker.process.poll() is None:
            os.kill(worker.process.pid, signal.SIGCONT)
