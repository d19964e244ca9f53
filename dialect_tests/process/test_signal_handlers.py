"""Handlers of signals wait while MLIR's bindings work, and never for the call that they interrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._mlir.held_interrupts import uninterrupted
from mlir_sparse.pipeline import compiler_process
from mlir_sparse.process.forks import Lock


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Lets two signals append their numbers; the first of them raises when it has come."""
    found: list[int] = []

    def raises(number: int, frame: FrameType | None) -> None:
        found.append(number)
        raise TimeoutError

    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    signal.signal(signal.SIGUSR1, raises)
    signal.signal(signal.SIGUSR2, lambda number, frame: found.append(number))
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


def test_handlers_wait_for_the_end_of_the_block(heard: list[int]) -> None:
    """A handler that raised inside of a function that C++ calls would end the process."""

    def work() -> None:
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGUSR1)
                signal.raise_signal(signal.SIGUSR2)
            assert heard == []

    with pytest.raises(TimeoutError):
        work()
    assert sorted(heard) == [signal.SIGUSR1, signal.SIGUSR2]


def test_handlers_are_as_they_were_after_the_block(heard: list[int]) -> None:
    before = signal.getsignal(signal.SIGUSR2)
    with uninterrupted():
        assert signal.getsignal(signal.SIGUSR2) is not before
    assert signal.getsignal(signal.SIGUSR2) is before
    assert heard == []


def test_a_lock_that_an_interrupt_came_with_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may be raised behind the call that takes it, or behind the next one."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    class Taken:
        def __init__(self, lock: Any) -> None:
            self._is_owned, self.release, self._acquire = lock._is_owned, lock.release, lock.acquire

        def acquire(self) -> None:
            self._acquire()
            interrupted()

    for late in (False, True):
        lock = Lock()
        inner = lock._lock
        with monkeypatch.context() as patch:
            if late:
                patch.setattr(threading, "get_ident", interrupted)
            else:
                patch.setattr(lock, "_lock", Taken(inner))
            with pytest.raises(KeyboardInterrupt), lock:
                raise AssertionError("entered")
        entered: list[bool] = []
        thread = threading.Thread(target=lambda inner=inner, entered=entered: entered.append(inner.acquire(timeout=5)))
        thread.start()
        thread.join()
        assert entered == [True]


def test_a_lock_is_refused_to_the_thread_that_has_it() -> None:
    lock = Lock()
    with lock:
        with pytest.raises(ms.UnsupportedError, match="have it set a flag, or start a thread"), lock:
            pass
        assert lock.locked()
        others: list[bool] = []
        thread = threading.Thread(target=lambda: others.append(lock.locked()))
        thread.start()
        thread.join()
        assert others == [True]
    assert not lock.locked()
    with lock:
        pass


def test_a_handler_that_compiles_is_refused_in_the_middle_of_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for the interrupted call, which waited for it."""
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    refusals: list[str] = []

    def compiles(number: int, frame: FrameType | None) -> None:
        try:
            ms.compile("y(i) = x(i) * 7 + z(i)", x="f64[?]", z="f64[?]")(np.ones(2), np.ones(2))
        except ms.UnsupportedError as error:
            refusals.append(str(error))

    read = compiler_process.read_message

    def interrupted(stream: Any) -> Any:
        if not refusals:
            signal.raise_signal(signal.SIGUSR1)
        return read(stream)

    monkeypatch.setattr(compiler_process, "read_message", interrupted)
    before = signal.signal(signal.SIGUSR1, compiles)
    try:
        y = ms.compile("y(i) = x(i) * 9 + z(i)", x="f64[?]", z="f64[?]")(np.ones(2), np.ones(2))
    finally:
        signal.signal(signal.SIGUSR1, before)
    np.testing.assert_array_equal(y, [10.0, 10.0])
    assert len(refusals) == 1
    assert refusals[0].startswith("expected a signal handler")
