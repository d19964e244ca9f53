"""Times of one operation of two libraries, measured in turn, and whether both give the same."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import mlir_sparse as ms
from benchmarks.eager.eager_operands import SIZES, operands
from benchmarks.eager.eager_operations import OPERATIONS, Operation

__all__ = ["BOUND", "EagerRow", "cases", "measured"]

BOUND = 1.5  # times the peer's time at the most
_ROUND, _LEAST = 2e-3, 7  # seconds that calls of one round take, and rounds


@dataclass(frozen=True, slots=True)
class EagerRow:
    """One operation in one storage and size.

    Args:
        operation: its name.
        storage: of the matrix.
        size: a key of `SIZES`.
        dtype: its element type.
        peer: the library beside.
        ours: the median of our seconds.
        theirs: likewise.
        ratio: the median of the ratios of rounds.
        absent: why there are no figures; nothing where there are.
    """

    operation: str
    storage: str
    size: str
    dtype: str
    peer: str
    ours: float = 0.0
    theirs: float = 0.0
    ratio: float = 0.0
    absent: str = ""

    @property
    def missed(self) -> bool:
        """Returns whether the bound is."""
        return self.ratio > BOUND

    def __str__(self) -> str:
        where = f"{self.operation:<24}{self.storage:<5}{self.size:<7}{self.dtype:<6}{self.peer:<14}"
        if self.absent:
            return f"{where}{self.absent}"
        times = f"{self.ours * 1e6:>12.1f}{self.theirs * 1e6:>12.1f}{self.ratio:>8.2f}"
        return f"{where}{times}{'  over' if self.missed else ''}"


def cases(sizes: list[str], dtypes: list[str], storages: list[str]) -> list[tuple[str, str, str, str]]:
    """Returns operation, storage, size and element type of all that is measured."""
    return [
        (name, storage, size, dtype)
        for size in sizes
        for dtype in dtypes
        for name, one in OPERATIONS.items()
        if not (one.orders and dtype.startswith("c"))
        for storage in one.storages
        if storage in storages
    ]


def measured(name: str, storage: str, size: str, dtype: str, seconds: float) -> EagerRow:
    """Returns what an operation takes.

    Args:
        name: a key of `OPERATIONS`.
        storage: of the operands.
        size: a key of `SIZES`.
        dtype: their element type.
        seconds: how long to measure, at least some rounds.

    Raises:
        AssertionError: where the libraries disagree.
    """
    one = OPERATIONS[name]
    if find_spec(one.peer.partition(".")[0]) is None:
        return EagerRow(name, storage, size, dtype, one.peer, absent="not installed")
    mine, other = (operands(library, storage, size, dtype) for library in ("mlir_sparse", one.peer))
    calls: tuple[Callable[[], Any], Callable[[], Any]] = (lambda: one.ours(mine), lambda: one.theirs(other))
    try:
        calls[1]()
    except MemoryError:  # some of pydata/sparse's make arrays of all elements
        return EagerRow(name, storage, size, dtype, one.peer, absent="out of memory")
    _check(one, calls, f"{name} of {storage}, {size}, {dtype}", SIZES[size][0] <= 1000)
    numbers = [_times_a_round(call) for call in calls]
    times: tuple[list[float], list[float]] = ([], [])
    stop = time.perf_counter() + seconds
    while len(times[0]) < _LEAST or time.perf_counter() < stop:
        for call, number, found in zip(calls, numbers, times, strict=True):
            found.append(timeit.timeit(call, number=number, timer=time.process_time) / number)
    ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
    return EagerRow(name, storage, size, dtype, one.peer, *map(statistics.median, times), ratio)


def _times_a_round(call: Callable[[], Any]) -> int:
    call()
    start = time.process_time()
    call()
    return max(1, int(_ROUND / max(time.process_time() - start, 1e-6)))


def _check(one: Operation, calls: tuple[Callable[[], Any], Callable[[], Any]], what: str, whole: bool) -> None:
    ours, theirs = (call() for call in calls)
    if isinstance(ours, ms.SparseTensor) and isinstance(theirs, np.ndarray):
        ours = ours.to_numpy()
    found, expected = (_plain(value, whole) for value in (ours, theirs))
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            mine.reshape(other.shape), other, rtol=1e-5, atol=1e-6, err_msg=f"{what} beside {one.peer}"
        )


def _plain(value: Any, whole: bool) -> list[Any]:
    """Returns a result as arrays: all elements of a small one, the sum and the number of entries of a large one."""
    if isinstance(value, tuple | list):
        return [np.asarray(one) for one in value]
    if isinstance(value, np.ndarray | np.generic | float | int):
        return [np.asarray(value)]
    if isinstance(value, ms.SparseTensor):
        value = value.to_scipy() if value.dtype != np.bool_ or not whole else value.to_numpy()
    if isinstance(value, np.ndarray):
        return [value]
    if type(value).__module__.startswith("sparse."):
        value = value.to_scipy_sparse() if value.ndim == 2 else value.todense()
    if whole and not isinstance(value, np.ndarray):
        return [np.asarray(value.todense())]
    # Entries that are zeros: tensors keep them where SciPy drops them.
    return [np.asarray(value if isinstance(value, np.ndarray) else value.sum())]
