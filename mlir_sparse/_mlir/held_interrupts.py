"""Delays Ctrl-C while C++ calls Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["uninterrupted"]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C to the end of the block.

    The bindings import dialects at their first use, which cannot be repeated after half an import, and create classes
    from C++, where an exception would end the process.
    """
    import signal  # its enumerations take longer to make than all else that an import of this package needs of it

    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # Python is not interrupted
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])
