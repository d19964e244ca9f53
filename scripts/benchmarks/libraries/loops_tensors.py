"""Loops by hand over CSF and coordinates with sparse results, compiled by numba.

Additions and the inner product are for one thread: cut by hand, they would be written twice over.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from benchmarks.libraries.loops_dense import cut

__all__ = ["add", "innerprod", "ttm_chain", "ttm_coo", "ttm_csf", "ttv_coo", "ttv_csf"]


def ttv_csf(pos2, crd2, values, v):
    """Returns the values; the result has the fibres of the tensor."""
    lines = np.empty(pos2.size - 1)
    for b in prange(pos2.size - 1):
        total = 0.0
        for p in range(pos2[b], pos2[b + 1]):
            total += values[p] * v[crd2[p]]
        lines[b] = total
    return lines


def ttm_csf(pos2, crd2, values, M):
    rank = M.shape[1]
    lines = np.empty((pos2.size - 1, rank))
    for b in prange(pos2.size - 1):
        for r in range(rank):
            lines[b, r] = 0.0
        for p in range(pos2[b], pos2[b + 1]):
            value, k = values[p], crd2[p]
            for r in range(rank):
                lines[b, r] += value * M[k, r]
    return lines


@numba.njit(cache=True)
def _count(coords, start, end):
    """Counts the different i and the different (i, j)."""
    roots, lines = 0, 0
    for p in range(start, end):
        new = p == start or coords[p, 0] != coords[p - 1, 0]
        roots += new
        lines += new or coords[p, 1] != coords[p - 1, 1]
    return roots, lines


def ttv_coo(coords, values, v, pieces):
    cuts = cut(coords[:, 0], pieces)
    roots, lines = np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64)
    for n in prange(pieces):
        roots[n + 1], lines[n + 1] = _count(coords, cuts[n], cuts[n + 1])
    roots, lines = roots.cumsum(), lines.cumsum()
    crd0, pos1 = np.empty(roots[-1], np.int32), np.empty(roots[-1] + 1, np.int32)
    crd1, sums = np.empty(lines[-1], np.int32), np.empty(lines[-1])
    pos1[-1] = lines[-1]
    for n in prange(pieces):
        a, b = roots[n] - 1, lines[n] - 1
        p, end = np.uint64(cuts[n]), np.uint64(cuts[n + 1])
        while p < end:
            i = coords[p, 0]
            a += 1
            crd0[a], pos1[a] = i, b + 1
            while p < end and coords[p, 0] == i:
                j, total = coords[p, 1], 0.0
                while p < end and coords[p, 0] == i and coords[p, 1] == j:
                    total += values[p] * v[coords[p, 2]]
                    p += np.uint64(1)
                b += 1
                crd1[b], sums[b] = j, total
    return crd0, pos1, crd1, sums


def ttm_coo(coords, values, M, pieces):
    cuts, rank = cut(coords[:, 0], pieces), M.shape[1]
    roots, lines = np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64)
    for n in prange(pieces):
        roots[n + 1], lines[n + 1] = _count(coords, cuts[n], cuts[n + 1])
    roots, lines = roots.cumsum(), lines.cumsum()
    crd0, pos1 = np.empty(roots[-1], np.int32), np.empty(roots[-1] + 1, np.int32)
    crd1, sums = np.empty(lines[-1], np.int32), np.empty((lines[-1], rank))
    pos1[-1] = lines[-1]
    for n in prange(pieces):
        a, b = roots[n] - 1, lines[n] - 1
        for p in range(cuts[n], cuts[n + 1]):
            i, j, value = coords[p, 0], coords[p, 1], values[p]
            new = p == cuts[n] or i != coords[p - 1, 0]
            if new:
                a += 1
                crd0[a], pos1[a] = i, b + 1
            if new or j != coords[p - 1, 1]:
                b += 1
                crd1[b] = j
                for r in range(rank):
                    sums[b, r] = 0.0
            for r in range(rank):
                sums[b, r] += value * M[coords[p, 2], r]
    return crd0, pos1, crd1, sums


def ttm_chain(crd0, pos1, crd1, pos2, crd2, values, B, C, result):
    """Sums a fibre times C's rows first, then multiplies once by B's row."""
    left, right = B.shape[1], C.shape[1]
    result[:] = 0
    for a in prange(crd0.size):
        i, fibre = crd0[a], np.empty(right)
        for b in range(pos1[a], pos1[a + 1]):
            j = crd1[b]
            for s in range(right):
                fibre[s] = 0.0
            for p in range(pos2[b], pos2[b + 1]):
                value, k = values[p], crd2[p]
                for s in range(right):
                    fibre[s] += value * C[k, s]
            for r in range(left):
                factor = B[j, r]
                for s in range(right):
                    result[i, r, s] += factor * fibre[s]


def innerprod(t0, tp1, t1, tp2, t2, tv, u0, up1, u1, up2, u2, uv):
    total, a, b = 0.0, 0, 0
    while a < t0.size and b < u0.size:
        i, other = t0[a], u0[b]
        if i == other:
            c, d = tp1[a], up1[b]
            while c < tp1[a + 1] and d < up1[b + 1]:
                j, k = t1[c], u1[d]
                if j == k:
                    p, q = tp2[c], up2[d]
                    while p < tp2[c + 1] and q < up2[d + 1]:
                        m, n = t2[p], u2[q]
                        if m == n:
                            total += tv[p] * uv[q]
                        p += m <= n
                        q += n <= m
                c += j <= k
                d += k <= j
        a += i <= other
        b += other <= i
    return total


def add(t0, tp1, t1, tp2, t2, tv, u0, up1, u1, up2, u2, uv):
    """Merges two tensors level by level into arrays of the largest size, then cuts these."""
    crd0, pos1 = np.empty(t0.size + u0.size, np.int32), np.zeros(t0.size + u0.size + 1, np.int32)
    crd1, pos2 = np.empty(t1.size + u1.size, np.int32), np.zeros(t1.size + u1.size + 1, np.int32)
    crd2, values = np.empty(t2.size + u2.size, np.int32), np.empty(tv.size + uv.size)
    roots, lines, at, a, b = 0, 0, 0, 0, 0
    while a < t0.size or b < u0.size:
        i = min(t0[a] if a < t0.size else 2147483647, u0[b] if b < u0.size else 2147483647)
        has_t, has_u = a < t0.size and t0[a] == i, b < u0.size and u0[b] == i
        c, c_end = (tp1[a], tp1[a + 1]) if has_t else (0, 0)
        d, d_end = (up1[b], up1[b + 1]) if has_u else (0, 0)
        while c < c_end or d < d_end:
            j = min(t1[c] if c < c_end else 2147483647, u1[d] if d < d_end else 2147483647)
            in_t, in_u = c < c_end and t1[c] == j, d < d_end and u1[d] == j
            p, p_end = (tp2[c], tp2[c + 1]) if in_t else (0, 0)
            q, q_end = (up2[d], up2[d + 1]) if in_u else (0, 0)
            while p < p_end and q < q_end:
                m, n = t2[p], u2[q]
                if m == n:
                    crd2[at], values[at] = m, tv[p] + uv[q]
                elif m < n:
                    crd2[at], values[at] = m, tv[p]
                else:
                    crd2[at], values[at] = n, uv[q]
                p += m <= n
                q += n <= m
                at += 1
            while p < p_end:
                crd2[at], values[at] = t2[p], tv[p]
                p += 1
                at += 1
            while q < q_end:
                crd2[at], values[at] = u2[q], uv[q]
                q += 1
                at += 1
            crd1[lines] = j
            lines += 1
            pos2[lines] = at
            c += in_t
            d += in_u
        crd0[roots] = i
        roots += 1
        pos1[roots] = lines
        a += has_t
        b += has_u
    first = crd0[:roots].copy(), pos1[: roots + 1].copy(), crd1[:lines].copy(), pos2[: lines + 1].copy()
    return first[0], first[1], first[2], first[3], crd2[:at].copy(), values[:at].copy()
