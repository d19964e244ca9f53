"""Statements on tensors that are declared by a definition and need not be made (`ms.define`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.programs.drawn import Array, Numbers, Uniform
from benchmarks.programs.workload import Step, Workload

__all__ = ["WORKLOADS"]

_PRODUCT, _TIMES_X = "y(i) = M(i,j) * x(j)", "t(i) = A(i,j) * x(j)"
_RANK = 32


def _low_rank(step: Step, U: Any, V: Any, x: Any) -> Any:
    return U @ (x @ V)


def _sparse_plus_low_rank(step: Step, S: Any, U: Any, V: Any, x: Any) -> Any:
    return step("y(i) = b(i) + S(i,j) * x(j)", b=U @ (x @ V), S=S, x=x)


def _one_hot(step: Step, c: Any, D: Any, w: Any) -> Any:
    return np.take(D @ w, c)


def _permuted(step: Step, A: Any, P: Any, x: Any) -> Any:
    return np.take(step(_TIMES_X, A=A, x=x), P)


def _scaled_twice(step: Step, d: Any, A: Any, e: Any, x: Any) -> Any:
    t = d * step(_TIMES_X, A=A, x=e * x)
    return d * step("u(i) = A(i,j) * v(j)", A=A, v=e * t)


WORKLOADS: Mapping[str, Workload] = {
    "defined: low rank": Workload(
        _PRODUCT,
        {"U": Array((5000, _RANK)), "V": Array((5000, _RANK), seed=2), "x": Array((5000,), seed=3)},
        (_low_rank,),
        lambda U, V, x: U @ (x @ V),
        definitions={"M": "M(i,j) = U(i,k) * V(j,k)"},
    ),
    "defined: sparse plus low rank": Workload(
        _PRODUCT,
        {
            "S": Uniform(3000, 3000, 40),
            "U": Array((3000, 8)),
            "V": Array((3000, 8), seed=2),
            "x": Array((3000,), seed=3),
        },
        (_sparse_plus_low_rank,),
        lambda S, U, V, x: S @ x + U @ (x @ V),
        definitions={"M": "M(i,j) = S(i,j) + U(i,k) * V(j,k)"},
    ),
    "defined: one-hot join": Workload(
        "p(i) = M(i,d) * D(d,f) * w(f)",
        {"c": Numbers(100_000, 2000), "D": Array((2000, 16)), "w": Array((16,), seed=2)},
        (_one_hot,),
        lambda c, D, w: (D @ w)[c],
        definitions={"M": "M(i,d) = 1.0 if c(i) == d"},
    ),
    "defined: rows permuted": Workload(
        _PRODUCT,
        {"A": Uniform(20_000, 20_000, 40), "P": Numbers(20_000, 20_000), "x": Array((20_000,))},
        (_permuted,),
        lambda A, P, x: (A @ x)[P],
        definitions={"M": "M(i,j) = A(P(i), j)"},
    ),
    "defined: scaled, twice": Workload(
        "y(i) = M(i,j) * M(j,k) * x(k)",
        {
            "d": Array((20_000,), seed=2),
            "A": Uniform(20_000, 20_000, 40),
            "e": Array((20_000,), seed=3),
            "x": Array((20_000,)),
        },
        (_scaled_twice,),
        lambda d, A, e, x: d * (A @ (e * (d * (A @ (e * x))))),
        definitions={"M": "M(i,j) = d(i) * A(i,j) * e(j)"},
    ),
}
