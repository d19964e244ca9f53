"""Threads and processes with small stacks compile as others do: past the end of a stack the process is killed."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
import threading

import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.process import own_stack

_IN_THREAD = """
import sys, threading
threading.stack_size(int(sys.argv[1]) << 10)
import numpy as np, mlir_sparse as ms
def work():
    A = ms.tensor(np.eye(4), "CSR")
    kernel = ms.compile("y(i) = A(i,j) * x(j) * 2", A=A, x=np.ones(4))
    assert "sparse_tensor" in kernel.ir()
    assert "llvm" in kernel.ir("llvm")
    try:
        ms.evaluate("y(i) = x(i) + ", x=np.ones(4))
    except ms.NotationSyntaxError:
        left = any(isinstance(one, threading._DummyThread) for one in threading.enumerate())
        print(kernel(A, np.ones(4)), (A @ A).sum(), left)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
_IN_PROCESS = """
import numpy as np, mlir_sparse as ms
print(ms.evaluate("y(i) = A(i,j) * x(j) * 2", A=ms.tensor(np.eye(4), "CSR"), x=np.ones(4)))
"""


@pytest.mark.parametrize("size", [32, 256])
def test_threads_with_small_stacks_compile(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    run = subprocess.run([sys.executable, "-c", _IN_THREAD, str(size)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "[2. 2. 2. 2.] 4.0 False\n"), run.stderr


def test_processes_with_small_stacks_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler's process has the limit of the one that starts it."""
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    limit = f"import resource, sys, os; resource.setrlimit(resource.RLIMIT_STACK, ({256 << 10}, {256 << 10})); "
    start = f"os.execv(sys.executable, [sys.executable, '-c', {_IN_PROCESS!r}])"
    run = subprocess.run([sys.executable, "-c", limit + start], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "[2. 2. 2. 2.]\n"), run.stderr


def test_stacks_are_measured() -> None:
    assert _native.stack_left() <= max(resource.getrlimit(resource.RLIMIT_STACK)[0], 1 << 40)
    found: list[int] = []
    assert _native.run_on_stack(lambda: found.append(_native.stack_left()), 1 << 20) == 0
    assert (1 << 20) * 0.9 < found[0] <= 1 << 20


def test_errors_come_from_the_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "stack_left", lambda: 1000)
    threads: list[threading.Thread] = []

    @own_stack.deep_calls
    def fails(number: int, *, name: str) -> None:
        threads.append(threading.current_thread())
        raise KeyError(number, name)

    with pytest.raises(KeyError) as error:
        fails(1, name="a")
    assert error.value.args == (1, "a")
    assert threads[0] is not threading.current_thread()


def test_no_memory_for_another_stack_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "stack_left", lambda: 200 << 10)
    monkeypatch.setattr(_native, "run_on_stack", lambda function, size: errno.EAGAIN)
    with pytest.raises(ms.UnsupportedError, match=r"expected 1024 KiB of stack for MLIR, but this thread has 200 left"):
        own_stack.deep_calls(lambda: None)()
