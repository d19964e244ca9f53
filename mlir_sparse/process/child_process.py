"""Work in a fork of this process, whose death is a value here: users' programs may crash, or never end."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable

from mlir_sparse.classes import dataclass

__all__ = ["ChildEnd", "in_child"]

_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_MOST = 1 << 20  # bytes read at a time
_LONGEST = 3600.0  # seconds of one wait: what the system takes is bounded, and a timeout may be infinite


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended.

    Args:
        status: its exit status; negative for the signal that killed it.
        content: what its work returned.
        timed_out: whether it was killed because its time was over.
    """

    status: int
    content: bytes = b""
    timed_out: bool = False

    @property
    def how(self) -> str:
        """Returns how it ended, for a message."""
        return f"was killed by {signal.Signals(-self.status).name}" if self.status < 0 else f"ended with {self.status}"


def in_child(work: Callable[[], tuple[int, bytes]], timeout: float | None = None) -> ChildEnd:
    """Runs work in a fork of this process, and waits for it.

    Ctrl-C ends the child, wherever it is, and is raised here. On Linux it ends with this process, however that ends: an
    endless program would go on without anyone.

    Args:
        work: returns the exit status, and bytes for this process.
        timeout: seconds after which the child is killed; None for no limit.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    ours, theirs = os.pipe()
    # Ctrl-C waits until there is somebody who ends the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _end_with(parent)
        _run(work, theirs)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(theirs)
        content = _all_of(ours, None if timeout is None else time.monotonic() + timeout)
        if content is None:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(ours)
    return ChildEnd(os.waitstatus_to_exitcode(status), content or b"", content is None)


def _end_with(parent: int) -> None:
    """Has the kernel kill this process when the thread ends that waits for it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it ended before it was asked for
        os._exit(1)


def _run(work: Callable[[], tuple[int, bytes]], answer: int) -> None:
    """Ends this process with what work returns; nothing of the parent's runs again."""
    status = 1
    try:
        faulthandler.disable()  # how it ended is said by the parent
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # compiled code has no place where Python would see it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        status, content = work()
        left = memoryview(content)
        while left:
            left = left[os.write(answer, left) :]
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, AttributeError):  # the reader closed the pipe, or there is none
                status = status or 1
        os._exit(status)


def _all_of(descriptor: int, deadline: float | None) -> bytes | None:
    """Returns what is written to a pipe until all writers have closed it; None if the time is over before."""
    found = bytearray()
    with selectors.DefaultSelector() as waiting:  # select() takes no descriptor above 1023
        waiting.register(descriptor, selectors.EVENT_READ)
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not waiting.select(None if left is None else min(left, _LONGEST)):
                if left is not None and left <= _LONGEST:
                    return None
                continue
            piece = os.read(descriptor, _MOST)
            if not piece:
                return bytes(found)
            found += piece
