"""Calls with almost no work, on matrices of 8 x 8: what they take themselves, and beside SciPy's."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

import mlir_sparse as ms

__all__ = ["BESIDE_SCIPY", "CALLS", "new_tensor_times", "ratios", "times"]

_SPMV = "y(i) = A(i,j) * x(j)"
_ROUNDS, _TIMES = 50, 200
# Operations on a matrix, another and a vector: tensors, or SciPy's matrices.
BESIDE_SCIPY: Mapping[str, Callable[[Any, Any, Any], object]] = {
    "A @ x": lambda A, B, x: A @ x,
    "A + B": lambda A, B, x: A + B,
    "A.sum()": lambda A, B, x: A.sum(),
    "A[0, 1]": lambda A, B, x: A[0, 1],
}
# Calls of a kernel for SciPy's matrix, that matrix, its tensor, and a vector.
CALLS: Mapping[str, Callable[[Any, Any, Any, Any], object]] = {
    "ms.tensor(S)": lambda kernel, S, A, x: ms.tensor(S),
    "ms.evaluate(A)": lambda kernel, S, A, x: ms.evaluate(_SPMV, A=A, x=x),
    "ms.evaluate(S)": lambda kernel, S, A, x: ms.evaluate(_SPMV, A=S, x=x),
    "kernel(S, x)": lambda kernel, S, A, x: kernel(S, x),
}


def _matrix(seed: int) -> Any:
    return scipy.sparse.csr_array(scipy.sparse.random_array((8, 8), density=0.3, rng=np.random.default_rng(seed)))


def _timer(clock: str) -> Callable[[], float]:
    return time.perf_counter if clock == "wall" else time.process_time


def ratios(name: str, clock: str) -> list[float]:
    """Returns times of an operation over SciPy's, measured in turn."""
    call, timer, x, found = BESIDE_SCIPY[name], _timer(clock), np.ones(8), []
    theirs = _matrix(1), _matrix(2), x
    ours = ms.tensor(theirs[0]), ms.tensor(theirs[1]), x
    assert np.allclose(_dense(call(*ours)), _dense(call(*theirs)))
    for _ in range(_ROUNDS):
        taken = [timeit.timeit(lambda one=one: call(*one), number=_TIMES, timer=timer) for one in (ours, theirs)]
        found.append(taken[0] / taken[1])
    return found


def _dense(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor) else getattr(value, "toarray", lambda: value)()


def times(name: str, clock: str) -> list[float]:
    """Returns times of a call."""
    S, x, timer = _matrix(1), np.ones(8), _timer(clock)
    operands = ms.compile(_SPMV, A=S, x=x), S, ms.tensor(S), x
    CALLS[name](*operands)
    return [timeit.timeit(lambda: CALLS[name](*operands), number=_TIMES, timer=timer) / _TIMES for _ in range(_ROUNDS)]


def new_tensor_times(clock: str) -> list[float]:
    """Returns times to make a tensor of a matrix that nobody has seen."""
    S, timer, found = _matrix(1), _timer(clock), []
    ms.tensor(S)
    for _ in range(1000):
        matrix = scipy.sparse.csr_array((S.data.copy(), S.indices.copy(), S.indptr.copy()), shape=S.shape)
        start = timer()
        ms.tensor(matrix)
        found.append(timer() - start)
    return found
