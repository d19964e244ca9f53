"""Delays Ctrl-C, and what else of signals Python handles, while C++ calls Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import FrameType

__all__ = ["uninterrupted"]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays handlers of signals to the end of the block.

    The bindings import dialects at their first use, which cannot be repeated after half an import, and which a handler
    that compiles would meet half done; they create classes from C++, where an exception would end the process.
    """
    import signal  # its enumerations take longer to make than all else that an import of this package needs of it

    if threading.get_ident() != threading.main_thread().ident:
        yield  # Python handles signals in the main thread
        return
    handlers = ((number, signal.getsignal(number)) for number in _signals())
    before = {number: handler for number, handler in handlers if callable(handler)}
    held: list[tuple[int, FrameType | None]] = []
    for number in before:
        signal.signal(number, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        with ExitStack() as calls:  # all of them, whatever one raises
            for number, frame in reversed(held):
                calls.callback(before[number], number, frame)


@cache
def _signals() -> tuple[int, ...]:
    import signal

    return tuple(signal.valid_signals())
