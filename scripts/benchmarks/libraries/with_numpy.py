"""NumPy, where whole arrays at a time are the natural way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.entries import slots
from benchmarks.libraries import Call, Prepare
from benchmarks.references import sddmm

__all__ = ["CALLS", "plain", "set_threads"]

set_threads: Callable[[int], None] | None = None


def plain(result: Any) -> Any:
    return result


def _to_slots(o: Mapping[str, Any]) -> Call:
    A = o["A"]

    def call() -> Any:
        slots(A)
        return A  # what the result is compared with; the arrays are NumPy's own

    return call


def _from_slots(o: Mapping[str, Any]) -> Call:
    """Takes rows out of ELL."""
    A = slots(o["A"])

    def call() -> Any:
        by_row, kept = A.columns.T, A.values.T
        filled = kept != 0
        starts = np.zeros(A.shape[0] + 1, np.int32)
        np.cumsum(filled.sum(1), out=starts[1:])
        return scipy.sparse.csr_array((kept[filled], by_row[filled], starts), shape=A.shape)

    return call


CALLS: Mapping[str, Prepare] = {
    "to-ell": _to_slots,
    "ell-to-csr": _from_slots,
    "sddmm": lambda o: lambda: sddmm(o),
}
