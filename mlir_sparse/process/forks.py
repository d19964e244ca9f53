"""What survives a fork: locks that the child finds open, work that forks wait for, properties without a lock.

A fork copies the locks of all threads, but only the thread that forks: a lock of another thread would stay closed in
the child for good. So the child renews the locks of this package. Work under locks of others, such as the import of
MLIR's bindings, finishes before a fork.
"""

from __future__ import annotations

import functools
import logging  # noqa: F401 - so that its hooks are older than ours, see below
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

__all__ = ["Lock", "cached_property", "no_fork"]


class Lock:
    """A lock that is open in the child of a fork, whichever thread had it.

    The guarded value must be consistent at each moment, as a dict is: the child goes on with it.

    >>> lock = Lock()
    >>> with lock:
    ...     lock.locked()
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _all.add(self)

    def locked(self) -> bool:
        """Returns whether a thread has it."""
        return self._lock.locked()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Release the lock that was entered: in a child that is not the current one.
        if self._lock.locked():
            self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.Lock()


_all: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock._renew()


os.register_at_fork(after_in_child=_renew_all)


# The thread that forks takes this lock, and opens it in the child, where it goes on. Hooks before a fork run newest
# first, so this module imports logging before it registers its own: the fork must take logging's lock after this one.
# In the other order a thread inside `no_fork` could wait for logging's lock (MLIR's bindings use it when imported)
# while the fork, which has it, waits for that thread.
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
