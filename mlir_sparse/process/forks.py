"""What survives a fork: locks that the child finds open, work that forks wait for, properties without a lock.

A fork copies the locks of all threads, but only the thread that forks: a lock of another thread would stay closed in
the child for good. So the child renews the locks of this package. Work under locks of others finishes before a fork:
the import of MLIR's bindings, and imports of this package's own modules at their first use.
"""

from __future__ import annotations

import functools
import logging  # noqa: F401 - so that its hooks are older than ours, see below
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mlir_sparse.errors import UnsupportedError

__all__ = ["Lock", "cached_property", "importing", "no_fork"]


class Lock:
    """A lock that is open in the child of a fork, whichever thread had it.

    The guarded value must be consistent at each moment, as a dict is: the child goes on with it. A thread that has the
    lock is refused it again.

    >>> lock = Lock()
    >>> with lock:
    ...     lock.locked()
    True
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        _all.add(self)

    def locked(self) -> bool:
        """Returns whether a thread has it."""
        return self._owner is not None

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
            if self._owner is not None:  # this thread: a signal handler or a finalizer, which would wait for itself
                self._lock.release()
                raise UnsupportedError(
                    "expected a signal handler or finalizer to do nothing that the call it interrupted is in the "
                    "middle of, but got a second call of this thread: have it set a flag, or start a thread for what "
                    "it computes"
                )
            self._owner = threading.get_ident()
        except BaseException:  # Ctrl-C: also between two of these lines, where others would wait for good
            if self._owner is None and self._lock._is_owned():  # type: ignore[attr-defined]
                self._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Release the lock that was entered: in a child that is not the current one.
        if self._owner == threading.get_ident():
            self._owner = None
            self._lock.release()

    def _renew(self) -> None:
        self._lock, self._owner = threading.RLock(), None


_all: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock._renew()


os.register_at_fork(after_in_child=_renew_all)


class _Imports:
    """The imports that threads do, which forks wait for.

    Python has a lock for each module: a child would wait for those of other threads for good. Imports of several
    threads go on side by side, as they may wait for each other's modules. None begins while a fork happens, but one
    that waits holds up none: it may wait for a module whose import imports more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._own = threading.local()

    def __enter__(self) -> None:
        with self._changed:
            self._running += 1
        self._own.running = getattr(self._own, "running", 0) + 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._own.running -= 1
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def before_fork(self) -> None:
        """Waits for the imports of other threads, and lets none begin."""
        self._changed.acquire()
        while self._running > getattr(self._own, "running", 0):
            self._changed.wait()

    def after_fork(self) -> None:
        """Lets imports begin again."""
        self._changed.release()


_imports = _Imports()
# Older than the hook below, which therefore runs first: work that no fork interrupts may import something.
os.register_at_fork(
    before=_imports.before_fork, after_in_parent=_imports.after_fork, after_in_child=_imports.after_fork
)


def importing() -> AbstractContextManager[None]:
    """Makes forks of other threads wait until the block ends, which imports modules of this package at their first use.

    >>> with importing():
    ...     from mlir_sparse.process import settings
    """
    return _imports


# The thread that forks takes this lock, and opens it in the child, where it goes on. Hooks before a fork run newest
# first, so this module imports logging before it registers its own: the fork must take logging's lock after this one.
# In the other order a thread inside `no_fork` could wait for logging's lock (MLIR's bindings use it when imported)
# while the fork, which has it, waits for that thread.
# Neither waits for its first use: hooks that begin to exist while another thread forks release, after the fork, what
# they have not taken before it, and logging's locks stay closed.
_whole = threading.RLock()
os.register_at_fork(before=_whole.acquire, after_in_parent=_whole.release, after_in_child=_whole.release)


@contextmanager
def no_fork() -> Iterator[None]:
    """Makes forks of other threads wait until the block ends: for milliseconds of work that no child could finish."""
    with _whole:
        yield


if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - the standard library's name
        """`functools.cached_property` as it is from Python 3.12 on: without a lock.

        In 3.11 all objects of a class share one lock for a property: unrelated kernels would wait for one another, and
        in the child of a fork for threads that are gone. Without it two threads may compute a value twice; where that
        is expensive, the object has a lock for it.
        """

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]
