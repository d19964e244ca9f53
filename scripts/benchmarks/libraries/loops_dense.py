"""Loops by hand with dense results, compiled by numba: once for one thread, once for several (`prange`).

Arrays are NumPy's, results are written in place. Nothing here is cleverer than what is written on a first attempt.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

__all__ = [
    "cut",
    "mattransmul_columns",
    "mattransmul_rows",
    "mttkrp_coo",
    "mttkrp_csf",
    "residual",
    "spmm",
    "spmv_bsr",
    "spmv_coo",
    "spmv_csr",
    "spmv_dcsr",
    "spmv_dia",
    "spmv_ell",
]


def spmv_csr(pos, crd, values, x, y):
    for i in prange(y.size):
        total = values.dtype.type(0)
        for p in range(pos[i], pos[i + 1]):
            total += values[p] * x[crd[p]]
        y[i] = total


def residual(b, pos, crd, values, x, y):
    for i in prange(y.size):
        total = b[i]
        for p in range(pos[i], pos[i + 1]):
            total -= values[p] * x[crd[p]]
        y[i] = total


def spmv_dcsr(rows, pos, crd, values, x, y):
    y[:] = 0
    for a in prange(rows.size):
        total = 0.0
        for p in range(pos[a], pos[a + 1]):
            total += values[p] * x[crd[p]]
        y[rows[a]] = total


@numba.njit(cache=True)
def cut(rows, pieces):
    """Returns where to cut sorted entries so that no row is cut."""
    cuts = np.zeros(pieces + 1, np.int64)
    for n in range(1, pieces):
        at = max(rows.size * n // pieces, cuts[n - 1])
        while 0 < at < rows.size and rows[at] == rows[at - 1]:
            at += 1
        cuts[n] = at
    cuts[pieces] = rows.size
    return cuts


def spmv_coo(rows, columns, values, x, y, pieces):
    y[:] = 0
    cuts = cut(rows, pieces)
    for n in prange(pieces):
        p, end = np.uint64(cuts[n]), np.uint64(cuts[n + 1])
        while p < end:
            i, total = rows[p], values.dtype.type(0)
            while p < end and rows[p] == i:
                total += values[p] * x[columns[p]]
                p += np.uint64(1)
            y[i] = total


def spmv_bsr(pos, crd, blocks, x, y):
    side = blocks.shape[1]
    for block_row in prange(pos.size - 1):
        for a in range(side):
            y[block_row * side + a] = 0.0
        for p in range(pos[block_row], pos[block_row + 1]):
            first = crd[p] * side
            for a in range(side):
                total = 0.0
                for b in range(side):
                    total += blocks[p, a, b] * x[first + b]
                y[block_row * side + a] += total


def spmv_ell(columns, values, x, y):
    """Slot after slot, in blocks of rows that stay in the first cache."""
    for block in prange((y.size + 511) // 512):
        first, last = block * 512, min(block * 512 + 512, y.size)
        for i in range(first, last):
            y[i] = 0.0
        for slot in range(columns.shape[0]):
            for i in range(first, last):
                y[i] += values[slot, i] * x[columns[slot, i]]


def spmv_dia(offsets, data, x, y):
    for i in prange(y.size):
        y[i] = 0.0
    for d in range(offsets.size):
        offset = offsets[d]
        for i in prange(max(0, -offset), min(y.size, x.size - offset, data.shape[1] - offset)):
            y[i] += data[d, i + offset] * x[i + offset]


def mattransmul_rows(alpha, pos, crd, values, x, beta, z, y, pieces):
    """Scatters rows; with several chunks each has its own vector."""
    if pieces == 1:
        for j in range(y.size):
            y[j] = beta * z[j]
        for i in range(x.size):
            scaled = alpha * x[i]
            for p in range(pos[i], pos[i + 1]):
                y[crd[p]] += values[p] * scaled
        return
    private = np.zeros((pieces, y.size))
    rows = x.size
    for n in prange(pieces):
        for i in range(rows * n // pieces, rows * (n + 1) // pieces):
            scaled = alpha * x[i]
            for p in range(pos[i], pos[i + 1]):
                private[n, crd[p]] += values[p] * scaled
    for j in prange(y.size):
        total = beta * z[j]
        for n in range(pieces):
            total += private[n, j]
        y[j] = total


def mattransmul_columns(alpha, pos, crd, values, x, beta, z, y):
    for j in prange(y.size):
        total = 0.0
        for p in range(pos[j], pos[j + 1]):
            total += values[p] * x[crd[p]]
        y[j] = alpha * total + beta * z[j]


def spmm(pos, crd, values, X, Y):
    k = X.shape[1]
    if k == 4:  # whoever has four columns keeps their sums in four variables
        for i in prange(Y.shape[0]):
            zero = values.dtype.type(0)
            a, b, c, d = zero, zero, zero, zero
            for p in range(pos[i], pos[i + 1]):
                value, j = values[p], crd[p]
                a += value * X[j, 0]
                b += value * X[j, 1]
                c += value * X[j, 2]
                d += value * X[j, 3]
            Y[i, 0], Y[i, 1], Y[i, 2], Y[i, 3] = a, b, c, d
        return
    for i in prange(Y.shape[0]):
        for c in range(k):
            Y[i, c] = 0.0
        for p in range(pos[i], pos[i + 1]):
            value, j = values[p], crd[p]
            for c in range(k):
                Y[i, c] += value * X[j, c]


def mttkrp_csf(crd0, pos1, crd1, pos2, crd2, values, B, C, A):
    """Sums a line times C's rows first, then multiplies once by B's row."""
    rank = B.shape[1]
    A[:] = 0
    for a in prange(crd0.size):
        i, line = crd0[a], np.empty(rank)
        for b in range(pos1[a], pos1[a + 1]):
            j = crd1[b]
            for r in range(rank):
                line[r] = 0.0
            for p in range(pos2[b], pos2[b + 1]):
                value, k = values[p], crd2[p]
                for r in range(rank):
                    line[r] += value * C[k, r]
            for r in range(rank):
                A[i, r] += line[r] * B[j, r]


def mttkrp_coo(coords, values, B, C, A, pieces):
    rank = B.shape[1]
    A[:] = 0
    cuts = cut(coords[:, 0], pieces)
    for n in prange(pieces):
        for p in range(cuts[n], cuts[n + 1]):
            i, j, k, value = coords[p, 0], coords[p, 1], coords[p, 2], values[p]
            for r in range(rank):
                A[i, r] += value * B[j, r] * C[k, r]
