"""Counts of subgraphs, searches and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.programs.drawn import Graph, OneOf
from benchmarks.programs.workload import Step, Workload

__all__ = ["WORKLOADS"]

_SKEWED, _EVEN = Graph(20_000, 100_000, power=0.5), Graph(3000, 22_500)
_WIDE = Graph(200_000, 800_000)
_FIFTH = 0.2


def _masked(step: Step, A: Any) -> Any:
    """Counts with a mask that is looked up; neighbours are those of rows, for the graph is undirected."""
    return step("T(i,j) = A(i,j) * A(i,k) * A(j,k)", out="CSR", A=A)


def _masked_as_written(step: Step, A: Any) -> Any:
    return step("T(i,j) = A(i,j) * A(i,k) * A(k,j)", out="CSR", A=A)


def _ends(step: Step, A: Any, T: Any) -> Any:
    return step("s = T(i,j) * d(i)", T=T, d=step("d(i) = A(i,j)", A=A))


def _paths(step: Step, A: Any) -> Any:
    return step("s = T(i,j) * T(i,j)", T=step("T(i,j) = A(i,k) * A(k,j)", out="CSR", A=A))


def _paths_there_and_back(step: Step, A: Any) -> Any:
    return step("s = T(i,j) * T(j,i)", T=step("T(i,j) = A(i,k) * A(k,j)", out="CSR", A=A))


def _three_paths(step: Step, A: Any) -> Any:
    d = step("d(i) = A(i,j)", A=A)
    return step("s = d(j) * A(j,k) * d(k)", d=d, A=A)


def _three_paths_by_rows(step: Step, A: Any) -> Any:
    d = step("d(i) = A(i,j)", A=A)
    return np.dot(d, step("t(j) = A(j,k) * d(k)", d=d, A=A))


def _stars(step: Step, A: Any) -> Any:
    d = step("d(i) = A(i,j)", A=A)
    return np.dot(d * d, d)


_SEARCH = "y(j) = A(i,j) * f(i) if not v(j)"
_PUSHED, _PULLED = "y(j) = A(i,j) * g(i) if not v(j)", "y(j) = A(j,i) * f(i) if not v(j)"


def _start(A: Any) -> tuple[Any, Any]:
    frontier = np.zeros(A.shape[0], bool)
    frontier[0] = True
    return frontier, np.zeros(A.shape[0])


def _search(step: Step, A: Any) -> Any:
    """Returns the distance of each vertex from the first, plus 1; 0 for those that are not reached."""
    frontier, distance = _start(A)
    visited, round_ = frontier.copy(), 1
    while frontier.any():
        distance[frontier] = round_
        frontier = step(_SEARCH, semiring="or_and", A=A, f=frontier, v=visited).copy()
        visited |= frontier
        round_ += 1
    return distance


def _switching_search(step: Step, A: Any) -> Any:
    """Pushes from few vertices, pulls to those that many have not reached (Beamer et al. 2012)."""
    import mlir_sparse as ms

    _, distance = _start(A)
    visited = distance.astype(bool)
    found, round_, extent = np.zeros(1, np.int64), 1, A.shape[0]
    while found.size:
        distance[found], visited[found] = round_, True
        if found.size < extent // 20:
            pushed = ms.SparseTensor.from_levels(
                "SparseVector", (extent,), [np.array([0, found.size])], [found], np.ones(found.size, bool)
            )
            pushed = step(_PUSHED, out="SparseVector", semiring="or_and", A=A, g=pushed, v=visited)
            found = np.asarray(pushed.storage.coordinates[0])
        else:
            frontier = np.zeros(extent, bool)
            frontier[found] = True
            found = np.flatnonzero(step(_PULLED, semiring="or_and", A=A, f=frontier, v=visited))
        round_ += 1
    return distance


def _expected_search(A: Any) -> Any:
    frontier, distance = _start(A)
    round_ = 1
    while frontier.any():
        distance[frontier] = round_
        frontier = ((A @ frontier) > 0) & (distance == 0)
        round_ += 1
    return distance


_STEP = "y(j) = A(i,j) * f(i)"


def _pushed_once(step: Step, A: Any, f: Any) -> Any:
    import mlir_sparse as ms

    found = np.flatnonzero(f)
    g = ms.SparseTensor.from_levels("SparseVector", f.shape, [np.array([0, found.size])], [found], f[found])
    return step("y(j) = A(i,j) * g(i)", A=A, g=g)


_RANKS, _DAMPED = 10, 0.85
_RANK = "p(j) = d * A(i,j) * r(i) * w(i) + t"


def _ranks(step: Step, A: Any) -> Any:
    extent = A.shape[0]
    w = 1 / np.maximum(step("n(i) = A(i,j)", A=A), 1)
    r = np.full(extent, 1 / extent)
    for _ in range(_RANKS):
        d, t = np.float64(_DAMPED), np.float64((1 - _DAMPED) / extent)
        r = step(_RANK, d=d, A=A, r=r, w=w, t=t)
    return r


def _ranks_by_hand(step: Step, A: Any) -> Any:
    """Follows links backwards, for the graph is undirected."""
    extent = A.shape[0]
    w = _DAMPED / np.maximum(step("n(i) = A(i,j)", A=A), 1)
    r = np.full(extent, 1 / extent)
    for _ in range(_RANKS):
        r = step("p(j) = A(j,i) * s(i) + t", A=A, s=r * w, t=np.float64((1 - _DAMPED) / extent))
    return r


def _expected_ranks(A: Any) -> Any:
    extent = A.shape[0]
    w, r = _DAMPED / np.maximum(A.sum(1), 1), np.full(extent, 1 / extent)
    for _ in range(_RANKS):
        r = A.T @ (r * w) + (1 - _DAMPED) / extent
    return r


def _torch_ranks(A: Any) -> Any:
    extent = A.shape[0]
    ones = A.new_ones(extent) if not A.is_sparse_csr else A.values().new_ones(extent)
    w, r = _DAMPED / (A @ ones).clamp(min=1), ones / extent
    for _ in range(_RANKS):
        r = A @ (r * w) + (1 - _DAMPED) / extent
    return r


WORKLOADS: Mapping[str, Workload] = {
    "triangles": Workload(
        "s = A(i,j) * A(j,k) * A(k,i)",
        {"A": _SKEWED},
        (
            lambda step, A: _masked(step, A).storage.values.sum(),
            lambda step, A: _masked_as_written(step, A).storage.values.sum(),
        ),
        lambda A: A.multiply(A @ A).sum(),
        sql="select count(*) from A as a, A as b, A as c where a.j = b.i and b.j = c.i and c.j = a.i",
        gain=3,
        database=_FIFTH,
    ),
    "tailed triangles": Workload(
        "s = A(i,j) * A(j,k) * A(k,i) * A(i,l)",
        {"A": _SKEWED},
        (
            lambda step, A: _ends(step, A, _masked(step, A)),
            lambda step, A: _ends(step, A, _masked_as_written(step, A)),
        ),
        lambda A: A.multiply(A @ A).sum(1) @ A.sum(1),
        sql=(
            "select count(*) from A as a, A as b, A as c, A as e "
            "where a.j = b.i and b.j = c.i and c.j = a.i and e.i = a.i"
        ),
        database=_FIFTH,
    ),
    "4-cycles": Workload(
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
        {"A": _EVEN},
        (_paths, _paths_there_and_back),
        lambda A: ((A @ A).data ** 2).sum(),
        sql=(
            "select count(*) from A as a, A as b, A as c, A as e "
            "where a.j = b.i and b.j = c.i and c.j = e.i and e.j = a.i"
        ),
        gain=8,
        database=_FIFTH,
    ),
    "3-paths": Workload(
        "s = A(i,j) * A(j,k) * A(k,l)",
        {"A": _SKEWED},
        (_three_paths, _three_paths_by_rows),
        lambda A: A.sum(0) @ (A @ A.sum(1)),
        sql="select count(*) from A as a, A as b, A as c where a.j = b.i and b.j = c.i",
        database=_FIFTH,
    ),
    "3-stars": Workload(
        "s = A(i,j) * A(i,k) * A(i,l)",
        {"A": _SKEWED},
        (_stars,),
        lambda A: (A.sum(1) ** 3).sum(),
        sql="select sum(n * n * n) from (select count(*) as n from A group by i)",
        database=_FIFTH,
    ),
    "BFS, first step": Workload(
        _STEP,
        {"A": _WIDE, "f": OneOf(200_000)},
        (_pushed_once,),
        lambda A, f: A.T @ f,
        torch=lambda A, f: A @ f,
    ),
    "BFS, to the end": Workload(
        _SEARCH,
        {"A": _WIDE},
        (_switching_search, _search),
        _expected_search,
        loop=_search,
    ),
    "PageRank, 10 steps": Workload(
        _RANK,
        {"A": _WIDE},
        (_ranks_by_hand,),
        _expected_ranks,
        loop=_ranks,
        torch=_torch_ranks,
    ),
}
