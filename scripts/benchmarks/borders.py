"""What crosses to other libraries and back, and their solvers on tensors: `scripts/bench borders`.

Ratios are of times measured in turn in one process, on as many threads as the process may have.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import mlir_sparse as ms
from benchmarks.crossings import CROSSINGS, crossing, is_installed
from benchmarks.gradients import gradient_over_forward, gradient_over_torch

__all__ = ["BORDERS", "Border"]

_GRID, _STEPS = 1000, 10  # points a side, iterations of a solver
_ROUNDS = 21


@dataclass(frozen=True, slots=True)
class Border:
    """A figure of this section.

    Args:
        unit: of the samples: `x` for ratios.
        bound: the greatest allowed median.
        measure: returns samples by a clock, "wall" or "processor".
    """

    unit: str
    bound: float | None
    measure: Callable[[str], list[float]]


def _grid() -> Any:
    """Returns the matrix of the 5-point stencil."""
    ones = np.ones(_GRID)
    line = scipy.sparse.diags_array([-ones[1:], 2 * ones, -ones[1:]], offsets=[-1, 0, 1])
    unit = scipy.sparse.eye_array(_GRID)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, unit) + scipy.sparse.kron(unit, line))


def _ratios(ours: Callable[[], Any], theirs: Callable[[], Any], clock: str, rounds: int) -> list[float]:
    timer = time.perf_counter if clock == "wall" else time.process_time
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-9)
    found = []
    for _ in range(rounds):
        taken = []
        for call in (ours, theirs):
            start = timer()
            call()
            taken.append(timer() - start)
        found.append(taken[0] / taken[1])
    return found


def _conjugate_gradients(solver: Callable[..., Any], clock: str) -> list[float]:
    """Returns times of a solver with a tensor over those of SciPy's with its matrix."""
    matrix = _grid()
    tensor, b = ms.tensor(matrix), np.ones(matrix.shape[0])

    def solved(by: Callable[..., Any], A: Any) -> Any:
        return by(A, b, rtol=0, maxiter=_STEPS)[0]

    theirs = scipy.sparse.linalg.cg
    return _ratios(lambda: solved(solver, tensor), lambda: solved(theirs, matrix), clock, 11)


def _has_mkl() -> bool:
    try:
        return bool(importlib.metadata.version("mkl"))
    except importlib.metadata.PackageNotFoundError:
        return False


def _triangle_over_mkl(storage: str, sides: int, clock: str) -> list[float]:
    """Returns times over those of MKL after its optimize step, into memory that is there."""
    from benchmarks.libraries import mkl_handles  # MKL may not be installed

    matrix = scipy.sparse.tril(_grid()).asformat(storage.lower())
    tensor, b = ms.tensor(matrix), np.ones((matrix.shape[0], sides) if sides > 1 else matrix.shape[0])
    mkl_handles.set_threads(ms.get_num_threads())
    handle, x = mkl_handles.Handle(matrix).optimized_to_solve(sides), np.empty_like(b)
    for _ in range(6):  # one thread and several take turns
        ms.linalg.solve_triangular(tensor, b)
    return _ratios(
        partial(ms.linalg.solve_triangular, tensor, b), partial(mkl_handles.solve, handle, b, x), clock, _ROUNDS
    )


def _triangular_solve(storage: str, clock: str) -> list[float]:
    matrix = scipy.sparse.tril(_grid()).asformat(storage.lower())
    tensor, b = ms.tensor(matrix), np.ones(matrix.shape[0])

    def ours() -> Any:
        return ms.linalg.solve_triangular(tensor, b)

    return _ratios(ours, lambda: scipy.sparse.linalg.spsolve_triangular(matrix, b), clock, 9)


BORDERS: Mapping[str, Border] = {
    "CG on a grid, over SciPy's": Border("x", 0.8, partial(_conjugate_gradients, ms.linalg.cg)),
    "SciPy's CG on a tensor, over its matrix": Border("x", None, partial(_conjugate_gradients, scipy.sparse.linalg.cg)),
    "triangle in CSR, over SciPy": Border("x", 1 / 20, partial(_triangular_solve, "CSR")),
    **{
        f"{name} {way}, beyond its own arrays": Border("s", 20e-6, partial(crossing, name, way == "out"))
        for name, one in CROSSINGS.items()
        if is_installed(one)
        for way in ("in", "out")
    },
    "triangle in CSC, over SciPy": Border("x", 1 / 20, partial(_triangular_solve, "CSC")),
    **{
        f"triangle in {storage}, {sides} right side{'s' * (sides > 1)}, over MKL": Border(
            "x", 1, partial(_triangle_over_mkl, storage, sides)
        )
        for storage in ("CSR", "CSC")
        for sides in (1, 8)
        if _has_mkl()
    },
    "gradient of SpMM, over the product": Border("x", 3, gradient_over_forward),
    **{
        f"SpMM with gradient, over PyTorch's {layout}": Border("x", 1, partial(gradient_over_torch, layout))
        for layout in ("CSR", "COO")
    },
}
