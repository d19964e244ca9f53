"""Products of several matrices and vectors: what is made first decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.programs.drawn import Array, Few, Hubs, Number, Uniform
from benchmarks.programs.workload import Step, Workload

__all__ = ["WORKLOADS"]

_N, _ROW = 50_000, 40
_A, _B = Uniform(_N, _N, _ROW, seed=1), Uniform(_N, _N, _ROW, seed=2)
_x, _z = Array((_N,)), Array((_N,), seed=2)
_M = 20_000
_SMALL = {name: Uniform(_M, _M, 20, seed=seed) for seed, name in enumerate("ABC", 1)}
_FEW = Few(_M, 20)

TIMES_X, TIMES_T = "t(j) = B(j,k) * x(k)", "y(i) = A(i,j) * t(j)"


def _two_products(step: Step, A: Any, B: Any, x: Any) -> Any:
    return step(TIMES_T, A=A, t=step(TIMES_X, B=B, x=x))


def _sums_of_columns_and_rows(step: Step, A: Any, B: Any) -> Any:
    return np.dot(step("a(j) = A(i,j)", A=A), step("b(j) = B(j,k)", B=B))


def _sums_of_rows(step: Step, A: Any, B: Any) -> Any:
    return step("s = A(i,j) * b(j)", A=A, b=step("b(j) = B(j,k)", B=B))


def _batax(step: Step, beta: Any, A: Any, x: Any) -> Any:
    t = step("t(i) = A(i,k) * x(k)", A=A, x=x)
    return step("y(j) = A(i,j) * t(i)", A=A, t=np.multiply(t, beta, out=t))


def _last_first(step: Step, A: Any, B: Any, C: Any) -> Any:
    T = step("T(j,l) = B(j,k) * C(k,l)", out="CSR", B=B, C=C)
    return step("D(i,l) = A(i,j) * T(j,l)", out="CSR", A=A, T=T)


def _last_first_of_four(step: Step, A: Any, B: Any, C: Any, D: Any) -> Any:
    return _last_first(step, A=A, B=B, C=step("S(k,m) = C(k,l) * D(l,m)", out="CSR", C=C, D=D))


def _expected_chain(A: Any, B: Any, C: Any) -> Any:
    return A @ (B @ C)


def _of_rows(row: int) -> Workload:
    n = 20_000
    return Workload(
        "y(j) = beta * A(i,j) * A(i,k) * x(k)",
        {"beta": Number(1.5), "A": Uniform(n, n, row), "x": Array((n,))},
        (_batax,),
        lambda beta, A, x: A.T @ (beta * (A @ x)),
        torch=lambda beta, A, x: A.t() @ (beta * (A @ x)),
        gain=5 if row == 40 else None,
    )


WORKLOADS: Mapping[str, Workload] = {
    "A B x": Workload(
        "y(i) = A(i,j) * B(j,k) * x(k)",
        {"A": _A, "B": _B, "x": _x},
        (_two_products,),
        lambda A, B, x: A @ (B @ x),
        torch=lambda A, B, x: A @ (B @ x),
        gain=50,
    ),
    "C = A B; y = C x": Workload(
        "def chain(double(N,K) A, double(K,M) B, double(M) x) -> (y) "
        "{ C(i,k) +=! A(i,j) * B(j,k)  y(i) +=! C(i,k) * x(k) }",
        {"A": _SMALL["A"], "B": _SMALL["B"], "x": Array((_M,))},
        (_two_products,),
        lambda A, B, x: A @ (B @ x),
        torch=lambda A, B, x: A @ (B @ x),
        gain=50,
    ),
    "SUMMM, one sum": Workload(
        "s = sum(i, j, k : A(i,j) * B(j,k))",
        {"A": _A, "B": _B},
        (_sums_of_columns_and_rows, _sums_of_rows),
        lambda A, B: A.sum(0) @ B.sum(1),
        gain=15,
    ),
    "SUMMM, a statement": Workload(
        "s = A(i,j) * B(j,k)",
        {"A": _A, "B": _B},
        (_sums_of_columns_and_rows, _sums_of_rows),
        lambda A, B: A.sum(0) @ B.sum(1),
    ),
    **{f"BATAX, {row} a row": _of_rows(row) for row in (5, 10, 40, 100)},
    "A B C, C nearly empty": Workload(
        "D(i,l) = A(i,j) * B(j,k) * C(k,l)",
        {**{name: _SMALL[name] for name in "AB"}, "C": _FEW},
        (_last_first,),
        _expected_chain,
        out="CSR",
        torch=_expected_chain,
    ),
    "A B C D, D nearly empty": Workload(
        "E(i,m) = A(i,j) * B(j,k) * C(k,l) * D(l,m)",
        {**_SMALL, "D": _FEW},
        (_last_first_of_four,),
        lambda A, B, C, D: A @ (B @ (C @ D)),
        out="CSR",
        torch=lambda A, B, C, D: A @ (B @ (C @ D)),
        gain=12,
    ),
    "A B C, hubs of A and B aligned": Workload(
        "D(i,l) = A(i,j) * B(j,k) * C(k,l)",
        {
            "A": Hubs(4000, 40_000, 1, seed=1),
            "B": Hubs(4000, 40_000, 0, seed=2),
            "C": Hubs(4000, 40_000, 1, power=1.5, seed=3),
        },
        (_last_first,),
        _expected_chain,
        out="CSR",
        torch=_expected_chain,
    ),
    "trace(A B)": Workload(
        "s = A(i,j) * B(j,i)",
        {"A": _A, "B": _B},
        (
            lambda step, A, B: step("s = A(i,j) * B(j,i)", A=A, B=B),
            lambda step, A, B: step("s = A(i,j) * B(j,i)", A=A, B=B.convert("CSC")),
        ),
        lambda A, B: A.multiply(B.T.tocsr()).sum(),
    ),
    "MMM, CSR by CSR": Workload(
        "C(i,k) = A(i,j) * B(j,k)",
        {name: _SMALL[name] for name in "AB"},
        (lambda step, A, B: step("C(i,k) = A(i,j) * B(j,k)", out="CSR", A=A, B=B),),
        lambda A, B: A @ B,
        out="CSR",
        torch=lambda A, B: A @ B,
    ),
    "MMM, CSR by CSC": Workload(
        "C(i,k) = A(i,j) * B(j,k)",
        {"A": _SMALL["A"], "B": Uniform(_M, _M, 20, seed=2, by_column=True)},
        (
            lambda step, A, B: step("C(i,k) = A(i,j) * B(j,k)", out="CSR", A=A, B=B),
            lambda step, A, B: step("C(i,k) = A(i,j) * B(j,k)", out="CSR", A=A, B=B.convert("CSR")),
        ),
        lambda A, B: A @ B.tocsr(),
        out="CSR",
    ),
}
