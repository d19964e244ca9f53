"""Learning over joins of tables: a table of facts has keys, and each row that they refer to is used many times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.programs.drawn import Array, Keys, Uniform
from benchmarks.programs.workload import Step, Workload

__all__ = ["WORKLOADS"]

_FACTS, _ROWS, _FEATURES = 300_000, 3000, 32
_F, _D = Keys(_FACTS, _ROWS), Array((_ROWS, _FEATURES))
_w, _y = Array((_FEATURES,), seed=2), Array((_FACTS,), seed=3)


def _predicted(step: Step, F: Any, D: Any, w: Any) -> Any:
    return step("p(i) = F(i,d) * t(d)", F=F, t=D @ w)


def _regressed(step: Step, F: Any, D: Any, w: Any, y: Any) -> Any:
    r = step("r(i) = F(i,d) * t(d) - y(i)", F=F, t=D @ w, y=y)
    return step("u(d) = F(i,d) * r(i)", F=F, r=r) @ D


def _of_joined_rows(step: Step, F: Any, D: Any) -> Any:
    P = step("P(i,f) = F(i,d) * D(d,f)", F=F, D=D)
    return P.T @ P


def _of_pairs_of_keys(step: Step, F: Any, D: Any) -> Any:
    G = step("G(d,e) = F(i,d) * F(i,e)", out="CSR", F=F)
    return D.T @ step("T(d,g) = G(d,e) * D(e,g)", G=G, D=D)


def _one_table(step: Step, L: Any, S: Any, P: Any, v: Any, w: Any) -> Any:
    return step("R(s,p) = L(s,p) * (a(s) + b(p))", out="CSR", L=L, a=S @ v, b=P @ w)


def _layer(step: Step, A: Any, X: Any, W: Any) -> Any:
    return step("H(i,h) = A(i,j) * T(j,h)", A=A, T=X @ W)


def _expected_residual(L: Any, S: Any, P: Any, v: Any, w: Any) -> Any:
    found = L.tocoo()
    return type(found)((found.data * ((S @ v)[found.row] + (P @ w)[found.col]), (found.row, found.col)), shape=L.shape)


WORKLOADS: Mapping[str, Workload] = {
    "prediction over a star join": Workload(
        "p(i) = F(i,d) * D(d,f) * w(f)",
        {"F": _F, "D": _D, "w": _w},
        (_predicted,),
        lambda F, D, w: F @ (D @ w),
        torch=lambda F, D, w: F @ (D @ w),
        sql=(
            "with t as (select D.i, sum(D.v * w.v) as v from D join w on D.j = w.i group by D.i) "
            "select F.i, F.v * t.v as v from F join t on F.j = t.i"
        ),
    ),
    "regression over a star join": Workload(
        "g(f) = F(i,d) * D(d,f) * (sum(e, h : F(i,e) * D(e,h) * w(h)) - y(i))",
        {"F": _F, "D": _D, "w": _w, "y": _y},
        (_regressed,),
        lambda F, D, w, y: (F.T @ (F @ (D @ w) - y)) @ D,
        scale=lambda F, D, w, y: (F.T @ (F @ (D @ w) + y)) @ D,
        torch=lambda F, D, w, y: (F.t() @ (F @ (D @ w) - y)) @ D,
        sql=(
            "with t as (select D.i, sum(D.v * w.v) as v from D join w on D.j = w.i group by D.i), "
            "u as (select F.j as i, sum(F.v * (F.v * t.v - y.v)) as v "
            "from F join t on F.j = t.i join y on F.i = y.i group by F.j) "
            "select D.j as i, sum(D.v * u.v) as v from D join u on D.i = u.i group by D.j"
        ),
        gain=8,
    ),
    "scores of sales, two tables": Workload(
        "R(s,p) = L(s,p) * (sum(f : S(s,f) * v(f)) + sum(g : P(p,g) * w(g)))",
        {
            "L": Uniform(2000, 1000, 200),
            "S": Array((2000, _FEATURES)),
            "P": Array((1000, _FEATURES), seed=2),
            "v": Array((_FEATURES,), seed=3),
            "w": Array((_FEATURES,), seed=4),
        },
        (_one_table,),
        _expected_residual,
        out="CSR",
    ),
    "covariance over a star join": Workload(
        "C(f,g) = F(i,d) * D(d,f) * F(i,e) * D(e,g)",
        {"F": _F, "D": _D},
        (_of_joined_rows, _of_pairs_of_keys),
        lambda F, D: D.T @ ((F.T @ F) @ D),
        torch=lambda F, D: (F @ D).t() @ (F @ D),
        sql=(
            "with c as (select j as i, sum(v * v) as v from F group by j) "
            "select a.j as i, b.j as j, sum(a.v * c.v * b.v) as v from D as a join c on a.i = c.i "
            "join D as b on a.i = b.i group by a.j, b.j"
        ),
        gain=3.5,
    ),
    "GCN layer": Workload(
        "H(i,h) = A(i,j) * X(j,f) * W(f,h)",
        {"A": Uniform(10_000, 10_000, 20), "X": Array((10_000, 512)), "W": Array((512, 16), seed=2)},
        (_layer,),
        lambda A, X, W: A @ (X @ W),
        torch=lambda A, X, W: A @ (X @ W),
        gain=10,
    ),
}
