"""The machine's limits: bandwidth and floating-point rate, measured with copies and NumPy's BLAS.

No kernel is faster than its bytes at the bandwidth of a working set of that size, or its operations at the rate of a
dense matrix product.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Roofline", "measured"]

_SIZES = (1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28)  # bytes in use


@dataclass(frozen=True, slots=True)
class Roofline:
    """A machine on some number of threads.

    Args:
        bandwidth: bytes a second, by bytes in use, smallest first.
        flops: operations a second.
    """

    bandwidth: Mapping[int, float]
    flops: float

    def seconds(self, work: Mapping[str, int]) -> float:
        """Returns the least time for so many `bytes` and `flops`."""
        size = next((size for size in self.bandwidth if size >= work["bytes"]), max(self.bandwidth))
        return max(work["bytes"] / self.bandwidth[size], work["flops"] / self.flops)


def measured() -> dict[str, Any]:
    """Returns the arguments of a Roofline for the threads that this process was given."""
    bandwidth = {size: max(_read(size), _added(size)) for size in _SIZES}
    return {"bandwidth": bandwidth, "flops": _multiplied()}


def _best(call: Callable[[], Any], seconds: float = 0.2) -> float:
    call()
    best, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _read(size: int) -> float:
    x, y = np.ones(size // 16), np.ones(size // 16)
    return size / _best(lambda: np.dot(x, y))


def _added(size: int) -> float:
    x, y, z = np.ones(size // 24), np.ones(size // 24), np.ones(size // 24)
    return size / _best(lambda: np.add(x, y, out=z))


def _multiplied(n: int = 1024) -> float:
    A, B, C = np.ones((n, n)), np.ones((n, n)), np.ones((n, n))
    return 2 * n**3 / _best(lambda: np.matmul(A, B, out=C))
