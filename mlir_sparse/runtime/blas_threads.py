"""The threads of the BLAS that NumPy has, which follow the limits of calls.

A number of threads is that of the process in OpenBLAS. Calls that may take fewer lower it while any of them runs, for
all threads of the process, and restore it then; others leave it alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.process.forks import Lock
from mlir_sparse.runtime.thin_products import is_thin, multiply_thin

__all__ = [
    "has_work_for_one",
    "multiply_by_vector",
    "multiply_on_one_thread",
    "multiply_within_limits",
    "on_one_thread",
]

Array = np.ndarray[Any, Any]

# The functions that read and set the number: of the OpenBLAS in NumPy's wheels, of others, and of MKL.
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)
# Multiplications for a further thread of BLAS: they take it about a millisecond.
_WORK = 1 << 24
# The same for a vector, where each element of the matrix is read for one of them.
_WORK_BY_VECTOR = 1 << 22
# The part of NumPy that is linked with BLAS, in its versions 2 and 1.
_MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


@dataclass(frozen=True, slots=True)
class _Controls:
    """How a BLAS is asked for its number of threads, and told another."""

    get: Callable[[], int]
    set: Callable[[int], object]


class _Lowered:
    """The calls that run with fewer threads than BLAS has otherwise."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted: list[int] = []
        self._before = 0
        self._begun = 0

    def begin(self, controls: _Controls, threads: int) -> None:
        """Lets BLAS have at most so many threads until the same `end`, or fewer where another call wants that."""
        with self._lock:
            self._begun += 1
            if not self._wanted:
                self._before = max(self._before, controls.get())
            self._wanted.append(threads)
            controls.set(min(self._wanted))

    def end(self, controls: _Controls, threads: int) -> None:
        """Ends a call that began with so many threads."""
        with self._lock:
            if threads not in self._wanted:  # in a child that was forked meanwhile, which `forget` has restored
                return
            self._wanted.remove(threads)
            controls.set(min(self._wanted, default=self._before))
            self._before = self._before if self._wanted else 0

    @contextmanager
    def __call__(self, controls: _Controls, threads: int) -> Iterator[None]:
        """Lets BLAS have at most so many threads inside a block."""
        self.begin(controls, threads)
        try:
            yield
        finally:
            self.end(controls, threads)

    def is_one(self, controls: _Controls) -> bool:
        """Returns whether BLAS has one thread, and not for the time of another call only."""
        begun = self._begun
        return not self._wanted and controls.get() == 1 and self._begun == begun

    def forget(self) -> None:
        """Forgets calls of threads that are not there any more, in the child of a fork, and ends what they wanted."""
        self._wanted.clear()
        before, self._before = self._before, 0
        controls = _controls() if before else None  # known already, as a call has asked for it
        if controls is not None:
            controls.set(before)


_lowered = _Lowered()
os.register_at_fork(after_in_child=_lowered.forget)


@cache
def _controls() -> _Controls | None:
    """Returns the controls of NumPy's BLAS; None where it has none that are known."""
    places = [getattr(sys.modules.get(name), "__file__", None) or ".py" for name in _MODULES]
    library = ctypes.CDLL(next(place for place in places if not place.endswith(".py")))  # finds symbols of BLAS too
    for get, set_ in _NAMES:
        try:
            return _Controls(getattr(library, get), getattr(library, set_))
        except AttributeError:
            continue
    return None


def on_one_thread() -> AbstractContextManager[None]:
    """Returns a block in which BLAS takes one thread for each call, as callers share the processors by themselves."""
    controls = _controls()
    return nullcontext() if controls is None else _lowered(controls, 1)


def has_work_for_one(multiplications: int, *, by_vector: bool) -> bool:
    """Returns whether a product takes one thread whatever the limits are, by a BLAS that can be told so.

    Args:
        multiplications: how many the product takes.
        by_vector: whether it is one of a matrix and a vector.
    """
    return multiplications < (_WORK_BY_VECTOR if by_vector else _WORK) and _controls() is not None


def multiply_on_one_thread(products: Sequence[Callable[[dict[str, Any]], None]], values: dict[str, Any]) -> None:
    """Runs products that have work for one thread: the threads of BLAS are looked at once for all of them.

    Args:
        products: run the products on values by name, by functions of NumPy that call BLAS.
        values: the values.
    """
    controls = _controls()
    assert controls is not None, "has_work_for_one has looked"
    limits = not _lowered.is_one(controls)
    if limits:
        _lowered.begin(controls, 1)
    try:
        with np.errstate(all="ignore"):
            for product in products:
                product(values)
    finally:
        if limits:
            _lowered.end(controls, 1)


def multiply_within_limits(one: Array, other: Array, out: Array) -> None:
    """Multiplies matrices, or stacks of them, on as many threads as a call may take.

    Limits to the same results for any number of threads are limits to one thread, and so is too little work for more:
    threads of BLAS wait for one another, which takes milliseconds where processors have other work. Where BLAS would
    have to be limited and nothing is known to limit it by, NumPy multiplies without BLAS, on one thread.

    Args:
        one: the left matrices.
        other: the right matrices.
        out: the array for the products.
    """
    limit = 1 if _native.is_deterministic() else _native.thread_limit()
    threads = min(limit, 1 + out.size * one.shape[-1] // _WORK)
    controls = _controls()
    if controls is not None and is_thin(one, other, out):
        with _lowered(controls, 1) if controls.get() > 1 else nullcontext():
            multiply_thin(one, other, out, threads)
        return
    with np.errstate(all="ignore"):
        if controls is not None and controls.get() > threads:
            with _lowered(controls, threads):
                np.matmul(one, other, out=out)
        elif controls is not None or limit >= (os.cpu_count() or 1) > 1:
            np.matmul(one, other, out=out)
        else:
            np.einsum("...ij,...jk->...ik", one, other, out=out, optimize=False)


def multiply_by_vector(matrix: Array, vector: Array, out: Array) -> None:
    """Multiplies a matrix and a vector, on as many threads as a call may take; see `multiply_within_limits`.

    Args:
        matrix: the matrix, contiguous or the transpose of one that is.
        vector: the vector.
        out: the contiguous array for the product, of its type.
    """
    controls = _controls()
    if controls is not None and controls.get() == 1:
        with np.errstate(all="ignore"):
            np.dot(matrix, vector, out=out)
        return
    limit = 1 if _native.is_deterministic() else _native.thread_limit()
    threads = min(limit, 1 + matrix.size // _WORK_BY_VECTOR)
    with np.errstate(all="ignore"):
        if controls is not None and controls.get() > threads:
            with _lowered(controls, threads):
                np.dot(matrix, vector, out=out)
        elif controls is not None or limit >= (os.cpu_count() or 1) > 1:
            np.dot(matrix, vector, out=out)
        else:
            np.einsum("ij,j->i", matrix, vector, out=out, optimize=False)
