"""The number of threads of calls: for the process, for a kernel, for one call."""

from __future__ import annotations

from mlir_sparse import _native
from mlir_sparse.errors import ScheduleError

__all__ = ["check_threads", "get_num_threads", "set_num_threads", "within"]

_MOST = 1 << 20  # more than any machine has processors, and more than native code starts


def set_num_threads(threads: int | None) -> None:
    """Sets the number of threads for kernels and conversions of this process, the calling one included.

    Args:
        threads: the number; None restores the default.

    Raises:
        ScheduleError: for a number below 1.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(None)
    """
    check_threads(threads)
    _native.set_thread_limit(min(threads or 0, _MOST))


def get_num_threads() -> int:
    """Returns the greatest number of threads in a call.

    It is the number of `set_num_threads`; else `MLIR_SPARSE_NUM_THREADS`; else the number of processors for the
    process, by its affinity and control group, or `OMP_NUM_THREADS` if that is less.
    """
    return _native.thread_limit()


def check_threads(threads: int | None) -> None:
    """Raises ScheduleError for anything that is no number of threads."""
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
        raise ScheduleError(f"expected at least 1 thread, but got {threads!r}: leave it out for all processors")


def within(threads: int | None, deterministic: bool) -> _native.Limits:
    """Returns a context manager that limits the threads of calls in this thread; inner ones override outer ones.

    Args:
        threads: the number of threads; None for no change.
        deterministic: whether results must be the same, bit for bit, for any number of threads.

    Raises:
        ScheduleError: for a number of threads below 1.
    """
    check_threads(threads)
    return _native.Limits(min(threads or 0, _MOST), deterministic)
