"""Ctrl-C at a given time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

__all__ = ["seconds_to_interrupt"]

_LONGEST = 60.0


def seconds_to_interrupt(work: Callable[[], object], after: float) -> float:
    """Returns how long it takes from Ctrl-C until it arrives, while something is done over and over.

    Args:
        work: what is done.
        after: the seconds of it before Ctrl-C.
    """
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def go_on() -> None:
        timer.start()  # where the interrupt is expected: it may come at once
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            work()

    timer = threading.Timer(after, send)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            go_on()
        arrived = time.monotonic()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    return arrived - sent[0]
