"""Loops by hand with sparse results of matrices, compiled by numba: rows are counted, then filled."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

__all__ = ["add", "add_three", "multiply_three", "sddmm", "spgemm"]


def sddmm(pos, crd, values, X, Y):
    k = X.shape[1]
    sampled = np.empty(values.size)
    for i in prange(pos.size - 1):
        for p in range(pos[i], pos[i + 1]):
            j, total = crd[p], 0.0
            for c in range(k):
                total += X[i, c] * Y[j, c]
            sampled[p] = values[p] * total
    return pos.copy(), crd.copy(), sampled


@numba.njit(cache=True)
def _sums(counts):
    pos = np.zeros(counts.size + 1, np.int32)
    total = 0
    for i in range(counts.size):
        total += counts[i]
        pos[i + 1] = total
    return pos


@numba.njit(cache=True)
def _count_union(a, b, p, p_end, q, q_end):
    count = 0
    while p < p_end and q < q_end:
        i, j = a[p], b[q]
        p += i <= j
        q += j <= i
        count += 1
    return count + (p_end - p) + (q_end - q)


def add(pos_a, crd_a, val_a, pos_b, crd_b, val_b):
    rows = pos_a.size - 1
    counts = np.empty(rows, np.int32)
    for i in prange(rows):
        counts[i] = _count_union(crd_a, crd_b, pos_a[i], pos_a[i + 1], pos_b[i], pos_b[i + 1])
    pos = _sums(counts)
    crd, values = np.empty(pos[rows], np.int32), np.empty(pos[rows])
    for i in prange(rows):
        p, p_end, q, q_end, at = pos_a[i], pos_a[i + 1], pos_b[i], pos_b[i + 1], pos[i]
        while p < p_end and q < q_end:
            j, k = crd_a[p], crd_b[q]
            if j == k:
                crd[at], values[at] = j, val_a[p] + val_b[q]
                p += 1
                q += 1
            elif j < k:
                crd[at], values[at] = j, val_a[p]
                p += 1
            else:
                crd[at], values[at] = k, val_b[q]
                q += 1
            at += 1
        while p < p_end:
            crd[at], values[at] = crd_a[p], val_a[p]
            p += 1
            at += 1
        while q < q_end:
            crd[at], values[at] = crd_b[q], val_b[q]
            q += 1
            at += 1
    return pos, crd, values


@numba.njit(cache=True)
def _head(crd, p, end):
    return crd[p] if p < end else np.int32(2147483647)


def add_three(pos_a, crd_a, val_a, pos_b, crd_b, val_b, pos_c, crd_c, val_c):
    """Merges three rows at once."""
    rows, last = pos_a.size - 1, np.int32(2147483647)
    counts = np.empty(rows, np.int32)
    for i in prange(rows):
        p, q, r, count = pos_a[i], pos_b[i], pos_c[i], 0
        while True:
            a, b, c = _head(crd_a, p, pos_a[i + 1]), _head(crd_b, q, pos_b[i + 1]), _head(crd_c, r, pos_c[i + 1])
            j = min(a, b, c)
            if j == last:
                break
            p += a == j
            q += b == j
            r += c == j
            count += 1
        counts[i] = count
    pos = _sums(counts)
    crd, values = np.empty(pos[rows], np.int32), np.empty(pos[rows])
    for i in prange(rows):
        p, q, r = pos_a[i], pos_b[i], pos_c[i]
        for at in range(pos[i], pos[i + 1]):
            a, b, c = _head(crd_a, p, pos_a[i + 1]), _head(crd_b, q, pos_b[i + 1]), _head(crd_c, r, pos_c[i + 1])
            j, total = min(a, b, c), 0.0
            if a == j:
                total += val_a[p]
                p += 1
            if b == j:
                total += val_b[q]
                q += 1
            if c == j:
                total += val_c[r]
                r += 1
            crd[at], values[at] = j, total
    return pos, crd, values


def multiply_three(pos_a, crd_a, val_a, pos_b, crd_b, val_b, pos_c, crd_c, val_c):
    """Intersects three rows at once."""
    rows = pos_a.size - 1
    counts = np.empty(rows, np.int32)
    for i in prange(rows):
        p, q, r, count = pos_a[i], pos_b[i], pos_c[i], 0
        while p < pos_a[i + 1] and q < pos_b[i + 1] and r < pos_c[i + 1]:
            a, b, c = crd_a[p], crd_b[q], crd_c[r]
            j = min(a, b, c)
            count += a == j and b == j and c == j
            p += a == j
            q += b == j
            r += c == j
        counts[i] = count
    pos = _sums(counts)
    crd, values = np.empty(pos[rows], np.int32), np.empty(pos[rows])
    for i in prange(rows):
        p, q, r, at = pos_a[i], pos_b[i], pos_c[i], pos[i]
        while p < pos_a[i + 1] and q < pos_b[i + 1] and r < pos_c[i + 1]:
            a, b, c = crd_a[p], crd_b[q], crd_c[r]
            j = min(a, b, c)
            if a == j and b == j and c == j:
                crd[at], values[at] = j, val_a[p] * val_b[q] * val_c[r]
                at += 1
            p += a == j
            q += b == j
            r += c == j
    return pos, crd, values


def spgemm(pos_a, crd_a, val_a, pos_b, crd_b, val_b, columns, ordered, pieces):
    """Counts the columns of each row, then adds up in a dense row and sorts its columns if asked for."""
    rows = pos_a.size - 1
    counts = np.empty(rows, np.int32)
    for n in prange(pieces):
        seen = np.full(columns, -1, np.int32)
        for i in range(rows * n // pieces, rows * (n + 1) // pieces):
            count = 0
            for p in range(pos_a[i], pos_a[i + 1]):
                k = crd_a[p]
                for q in range(pos_b[k], pos_b[k + 1]):
                    j = crd_b[q]
                    if seen[j] != i:
                        seen[j] = i
                        count += 1
            counts[i] = count
    pos = _sums(counts)
    crd, values = np.empty(pos[rows], np.int32), np.empty(pos[rows])
    for n in prange(pieces):
        row, seen = np.zeros(columns), np.full(columns, -1, np.int32)
        for i in range(rows * n // pieces, rows * (n + 1) // pieces):
            at = pos[i]
            for p in range(pos_a[i], pos_a[i + 1]):
                k, value = crd_a[p], val_a[p]
                for q in range(pos_b[k], pos_b[k + 1]):
                    j = crd_b[q]
                    if seen[j] != i:
                        seen[j] = i
                        crd[at] = j
                        at += 1
                        row[j] = value * val_b[q]
                    else:
                        row[j] += value * val_b[q]
            if ordered:
                crd[pos[i] : at].sort()
            for p in range(pos[i], at):
                values[p] = row[crd[p]]
    return pos, crd, values
