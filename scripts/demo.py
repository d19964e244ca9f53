"""The main job on one matrix: encoding, IR, SpMV and SpMM, checked against SciPy and timed beside it."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse

import mlir_sparse as ms

GRID = 1000
COLUMNS = 32  # of the dense matrix in SpMM


def main(arguments: list[str]) -> int:
    """Runs the demonstration on a Matrix Market file, or on a Poisson matrix."""
    if len(arguments) > 1:
        print("usage: scripts/demo [FILE.mtx]", file=sys.stderr)
        return 2
    start = time.perf_counter()
    name = arguments[0] if arguments else f"Poisson, {GRID} x {GRID} grid"
    try:
        A = ms.tensor(ms.read(arguments[0]) if arguments else poisson(GRID), "CSR", dtype="f64")
    except (ms.SparseError, OSError) as error:
        print(f"demo: error: {error}", file=sys.stderr)
        return 1
    print(f"{name}: {' x '.join(map(str, A.shape))}, {A.nse:,} entries, {A.nbytes / 1e6:.1f} MB\n")
    print(f"{A.encoding}\n\n{A.encoding.describe()}\n")
    rng = np.random.default_rng(0)
    operands = {
        "y(i) = A(i,j) * x(j)": ("x", rng.random(A.shape[1])),
        "Y(i,k) = A(i,j) * X(j,k)": ("X", rng.random((A.shape[1], COLUMNS))),
    }
    passed = [show(text, A, operand, values) for text, (operand, values) in operands.items()]
    print(f"{time.perf_counter() - start:.1f} s in all")
    return 0 if all(passed) else 1


def poisson(n: int) -> scipy.sparse.csr_array:
    """Builds the 5-point matrix of the Poisson equation on an n x n grid."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line))


def show(text: str, A: ms.SparseTensor, operand: str, values: np.ndarray) -> bool:
    """Compiles one kernel, prints its IR, checks and times it; returns whether the check passed."""
    reference = A.to_scipy()
    tensors = {"A": A, operand: values}
    start = time.perf_counter()
    kernel = ms.compile(text, tensors=tensors, out="dense")
    result = kernel(A, values)
    first = time.perf_counter() - start
    print(f"{text}\n\n{kernel.ir('linalg').strip()}\n")
    expected = reference @ values
    # Rounding in a sum is relative to the sum of absolute values, not to what cancellation leaves of it.
    bound = abs(reference) @ np.abs(values)
    error = float(np.max(np.abs(result - expected) / np.maximum(bound, np.finfo(float).tiny), initial=0.0))
    ours, scipys = interleaved(lambda: kernel(A, values, out=result), lambda: reference @ values)
    verdict = "agrees with SciPy" if error < 1e-13 else "DIFFERS FROM SCIPY"
    print(f"  first call   {first * 1e3:8.2f} ms, compilation included")
    print(f"  mlir_sparse  {ours * 1e3:8.2f} ms")
    print(f"  SciPy        {scipys * 1e3:8.2f} ms, {scipys / ours:.2f} times as long")
    print(f"  {verdict}: largest error {error:.1e}\n")
    return error < 1e-13


def interleaved(*calls: Callable[[], object], seconds: float = 4.0) -> list[float]:
    """Returns the median time of each call; calls alternate, so that noise affects all alike."""
    times: list[list[float]] = [[] for _ in calls]
    stop = time.perf_counter() + seconds
    while len(times[0]) < 3 or (time.perf_counter() < stop and len(times[0]) < 1000):
        for call, found in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
