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
from functools import cache
from typing import Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.classes import dataclass
from mlir_sparse.machine import machine_profile
from mlir_sparse.runtime.thin_products import is_thin, multiply_thin

__all__ = [
    "has_work_for_one",
    "multiply_by_vector",
    "multiply_on_one_thread",
    "multiply_within_limits",
    "on_one_thread",
    "short_product",
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
# The letters of element types in the names of BLAS's functions, by NumPy's.
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
# The part of NumPy that is linked with BLAS, in its versions 2 and 1.
_MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


@dataclass(frozen=True, slots=True)
class _Blas:
    """The BLAS that NumPy has.

    Args:
        library: finds its functions.
        threads: its number of threads.
        names: what stands around the names of its other functions; None where their integers are not known.
        wide: whether those have 64 bits.
    """

    library: ctypes.CDLL
    threads: _native.BlasThreads
    names: tuple[str, str] | None
    wide: bool


@cache
def _blas() -> _Blas | None:
    """Returns NumPy's BLAS; None where it has none whose threads are known to be controlled."""
    places = [getattr(sys.modules.get(name), "__file__", None) or ".py" for name in _MODULES]
    library = ctypes.CDLL(next(place for place in places if not place.endswith(".py")))  # finds symbols of BLAS too
    for get, set_ in _NAMES:
        if hasattr(library, get) and hasattr(library, set_):
            threads = _native.BlasThreads(_address(library, get), _address(library, set_))
            os.register_at_fork(after_in_child=threads.forget)
            before, found, after = get.partition("openblas_get_num_threads")
            config = f"{before}openblas_get_config{after}"
            if not found or not hasattr(library, config):
                return _Blas(library, threads, None, wide=False)
            said = ctypes.CFUNCTYPE(ctypes.c_char_p)(_address(library, config))()
            return _Blas(library, threads, (before, after), wide=b"USE64BITINT" in said)
    return None


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _controls() -> _native.BlasThreads | None:
    """Returns the threads of NumPy's BLAS; None where nothing is known to limit them by."""
    blas = _blas()
    return None if blas is None else blas.threads


@contextmanager
def _lowered(controls: _native.BlasThreads, threads: int) -> Iterator[None]:
    """Lets BLAS have at most so many threads inside a block."""
    controls.begin(threads)
    try:
        yield
    finally:
        controls.end(threads)


@cache
def _product_functions(kind: str) -> _native.BlasFunctions | None:
    """Returns the functions by which native code multiplies arrays; None where they are not known.

    Args:
        kind: NumPy's letter of the element type.
    """
    blas, letter = _blas(), _LETTERS.get(kind)
    if blas is None or blas.names is None or letter is None:
        return None
    before, after = blas.names
    names = {name: f"{before}cblas_{letter}{name}{after}" for name in ("gemm", "gemv", "syrk")}
    if not all(hasattr(blas.library, name) for name in names.values()):
        return None
    gemm, gemv, syrk = (_address(blas.library, name) for name in names.values())
    return _native.BlasFunctions(gemm, gemv, syrk, blas.wide)


def short_product(
    kind: str, rows: int, summed: int, columns: int, *, turns_left: bool, turns_right: bool
) -> _native.BlasProduct | None:
    """Returns a product of arrays that has work for one thread, for native programs; None where BLAS is not known.

    Args:
        kind: NumPy's letter of the element type.
        rows: the rows of the left matrix; like all extents at least 1.
        summed: its columns.
        columns: those of the right matrix; 0 for a vector.
        turns_left: whether the transpose of the left matrix is stored.
        turns_right: whether that of the right one is.
    """
    controls, functions = _controls(), _product_functions(kind)
    if controls is None or functions is None:
        return None
    return _native.BlasProduct(controls, functions, kind, rows, summed, columns, turns_left, turns_right)


def _work(*, by_vector: bool) -> int:
    """Returns the multiplications for a further thread of BLAS.

    Args:
        by_vector: whether each element of a matrix is read for one of them.
    """
    return machine_profile().number("blas_by_vector" if by_vector else "blas")


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
    return multiplications < _work(by_vector=by_vector) and _controls() is not None


def multiply_on_one_thread(products: Sequence[Callable[[dict[str, Any]], None]], values: dict[str, Any]) -> None:
    """Runs products that have work for one thread: the threads of BLAS are looked at once for all of them.

    Args:
        products: run the products on values by name, by functions of NumPy that call BLAS.
        values: the values.
    """
    controls = _controls()
    assert controls is not None, "has_work_for_one has looked"
    limits = not controls.is_one()
    if limits:
        controls.begin(1)
    try:
        with np.errstate(all="ignore"):
            for product in products:
                product(values)
    finally:
        if limits:
            controls.end(1)


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
    threads = min(limit, 1 + out.size * one.shape[-1] // _work(by_vector=False))
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
    threads = min(limit, 1 + matrix.size // _work(by_vector=True))
    with np.errstate(all="ignore"):
        if controls is not None and controls.get() > threads:
            with _lowered(controls, threads):
                np.dot(matrix, vector, out=out)
        elif controls is not None or limit >= (os.cpu_count() or 1) > 1:
            np.dot(matrix, vector, out=out)
        else:
            np.einsum("ij,j->i", matrix, vector, out=out, optimize=False)
