"""Loops by hand that reduce rows, columns and everything, compiled by numba."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import prange

__all__ = ["column_sums", "min_plus", "row_maxima", "row_sums", "total_sum"]


def min_plus(pos, crd, values, x, y):
    for i in prange(y.size):
        least = np.inf
        for p in range(pos[i], pos[i + 1]):
            found = values[p] + x[crd[p]]
            least = found if found < least else least
        y[i] = least


def row_maxima(columns, pos, values, y):
    """Missing entries count as zeros."""
    for i in prange(y.size):
        most = 0.0 if pos[i + 1] - pos[i] < columns else -np.inf
        for p in range(pos[i], pos[i + 1]):
            most = values[p] if values[p] > most else most
        y[i] = most


def row_sums(pos, crd, values, y):
    for i in prange(y.size):
        total = 0.0
        for p in range(pos[i], pos[i + 1]):
            total += values[p]
        y[i] = total


def column_sums(pos, crd, values, y, pieces):
    """With several chunks each has its own vector."""
    if pieces == 1:
        y[:] = 0
        for p in range(values.size):
            y[crd[p]] += values[p]
        return
    private = np.zeros((pieces, y.size))
    for n in prange(pieces):
        for p in range(values.size * n // pieces, values.size * (n + 1) // pieces):
            private[n, crd[p]] += values[p]
    for j in prange(y.size):
        total = 0.0
        for n in range(pieces):
            total += private[n, j]
        y[j] = total


def total_sum(values):
    total = 0.0
    for p in prange(values.size):
        total += values[p]
    return total
