"""Forks: locks that they leave open, what they wait for, and properties computed once without a lock.

A fork copies the locks of all threads, and none of the threads: what another one held
would stay locked in the child for good. Locks of this package are renewed there; what has
no lock of ours, such as half a module of MLIR's bindings, is finished before.
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
    """A lock that is open in the child of a fork, whoever held it.

    What it guards must be whole at each moment, as a dict is: the child goes on with it.

    >>> lock = Lock()
    >>> with lock:
    ...     lock.locked()
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _all.add(self)

    def locked(self) -> bool:
        """Returns whether somebody holds it."""
        return self._lock.locked()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Left where it was entered: in a child, what the parent held is not there to be released.
        if self._lock.locked():
            self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.Lock()


_all: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock._renew()


os.register_at_fork(after_in_child=_renew_all)


# Taken by the thread that forks, which goes on in the child and opens it there. What runs before a fork runs newest
# first: logging's lock is taken after this one, or a thread that no fork may meet could wait for it (MLIR's bindings
# ask for a logger as they are imported) while the fork, which has it, waits for that thread.
_whole = threading.RLock()
os.register_at_fork(before=_whole.acquire, after_in_parent=_whole.release, after_in_child=_whole.release)


@contextmanager
def no_fork() -> Iterator[None]:
    """Lets forks of other threads wait until the end: for milliseconds of work that no child can finish."""
    with _whole:
        yield


if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - the standard library's name
        """`functools.cached_property` as it is from Python 3.12 on: without a lock.

        In 3.11 one lock serves a property of all objects of a class: kernels that have nothing to do with each other
        wait for one another, and in the child of a fork for threads that are not there. Two threads may compute a
        value twice here; where that is dear, a lock of the object's own stands around it.
        """

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]
