"""Matrices and vectors: functions, quotients, sums of matrices, quadratic forms and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.programs.drawn import Array, Uniform, VectorEntries
from benchmarks.programs.workload import Step, Workload

__all__ = ["WORKLOADS"]

_N, _ROW = 50_000, 40
_A, _B = Uniform(_N, _N, _ROW, seed=1), Uniform(_N, _N, _ROW, seed=2)
_x, _z = Array((_N,)), Array((_N,), seed=2)
_TIMES_X = "t(i) = A(i,j) * x(j)"


def _normalized(step: Step, A: Any, x: Any) -> Any:
    t = step(_TIMES_X, A=A, x=x)
    return np.multiply(t, 1 / np.sqrt(np.dot(t, t)), out=t)


def _squared(step: Step, A: Any, x: Any) -> Any:
    t = step(_TIMES_X, A=A, x=x)
    return np.dot(t, t)


def _gradient(step: Step, X: Any, w: Any, y: Any) -> Any:
    return step("g(j) = X(i,j) * r(i)", X=X, r=step("r(i) = X(i,k) * w(k) - y(i)", X=X, w=w, y=y))


def _logistic(step: Step, X: Any, w: Any, y: Any) -> Any:
    t = step("t(i) = X(i,k) * w(k)", X=X, w=w)
    return step("g(j) = X(i,j) * r(i)", X=X, r=step("r(i) = 1 / (1 + exp(-t(i))) - y(i)", t=t, y=y))


def _logistic_in_numpy(step: Step, X: Any, w: Any, y: Any) -> Any:
    t = step("t(i) = X(i,k) * w(k)", X=X, w=w)
    np.exp(np.negative(t, out=t), out=t)
    t += 1
    np.divide(1, t, out=t)
    t -= y
    return step("g(j) = X(i,j) * r(i)", X=X, r=t)


def _lazy(step: Step, A: Any, B: Any) -> Any:
    import mlir_sparse as ms

    return (ms.lazy(A) @ ms.lazy(B)).sum().compute()


def _summm(step: Step, A: Any, B: Any) -> Any:
    return np.dot(step("a(j) = A(i,j)", A=A), step("b(j) = B(j,k)", B=B))


def _summm_by_rows(step: Step, A: Any, B: Any) -> Any:
    return step("s = A(i,j) * b(j)", A=A, b=step("b(j) = B(j,k)", B=B))


WORKLOADS: Mapping[str, Workload] = {
    "(A + B) x": Workload(
        "y(i) = (A(i,j) + B(i,j)) * x(j)",
        {"A": _A, "B": _B, "x": _x},
        (
            lambda step, A, B, x: step("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", A=A, B=B, x=x),
            lambda step, A, B, x: step(
                "y(i) = b(i) + A(i,j) * x(j)", b=step("b(i) = B(i,j) * x(j)", B=B, x=x), A=A, x=x
            ),
        ),
        lambda A, B, x: A @ x + B @ x,
        torch=lambda A, B, x: A @ x + B @ x,
        gain=3,
    ),
    "A exp(x)": Workload(
        "y(i) = A(i,j) * exp(x(j))",
        {"A": _A, "x": _x},
        (
            lambda step, A, x: step(_TIMES_X, A=A, x=np.exp(x)),
            lambda step, A, x: step(_TIMES_X, A=A, x=step("e(j) = exp(x(j))", x=x)),
        ),
        lambda A, x: A @ np.exp(x),
        torch=lambda A, x: A @ x.exp(),
        gain=2.5,
    ),
    "exp(x(i)) A x": Workload(
        "y(i) = exp(x(i)) * A(i,j) * z(j)",
        {"x": _x, "A": _A, "z": _z},
        (
            lambda step, x, A, z: step("y(i) = exp(x(i)) * sum(j : A(i,j) * z(j))", x=x, A=A, z=z),
            lambda step, x, A, z: step("y(i) = exp(x(i)) * A(i,j) * z(j)", x=x, A=A, z=z),
            lambda step, x, A, z: np.exp(x) * step("t(i) = A(i,j) * z(j)", A=A, z=z),
        ),
        lambda x, A, z: np.exp(x) * (A @ z),
        torch=lambda x, A, z: x.exp() * (A @ z),
    ),
    "A x / norm(A x)": Workload(
        "y(i) = sum(j : A(i,j) * x(j)) / sqrt(sum(k : sum(l : A(k,l) * x(l)) * sum(m : A(k,m) * x(m))))",
        {"A": _A, "x": _x},
        (_normalized,),
        lambda A, x: (A @ x) / np.linalg.norm(A @ x),
        torch=lambda A, x: (A @ x) / (A @ x).norm(),
    ),
    "x' A' A x": Workload(
        "s = x(i) * A(j,i) * A(j,k) * x(k)",
        {"x": _x, "A": _A},
        (lambda step, x, A: _squared(step, A, x),),
        lambda x, A: np.dot(A @ x, A @ x),
        torch=lambda x, A: (A @ x).dot(A @ x),
    ),
    "x' A z": Workload(
        "s = x(i) * A(i,j) * z(j)",
        {"x": _x, "A": _A, "z": _z},
        (
            lambda step, x, A, z: step("s = x(i) * sum(j : A(i,j) * z(j))", x=x, A=A, z=z),
            lambda step, x, A, z: step("s = x(i) * A(i,j) * z(j)", x=x, A=A, z=z),
            lambda step, x, A, z: np.dot(x, step("t(i) = A(i,j) * z(j)", A=A, z=z)),
        ),
        lambda x, A, z: x @ (A @ z),
        torch=lambda x, A, z: x.dot(A @ z),
    ),
    "A x + A z": Workload(
        "y(i) = A(i,j) * x(j) + A(i,j) * z(j)",
        {"A": _A, "x": _x, "z": _z},
        (lambda step, A, x, z: step(_TIMES_X, A=A, x=x + z),),
        lambda A, x, z: A @ (x + z),
        torch=lambda A, x, z: A @ (x + z),
    ),
    "X' (X w - y)": Workload(
        "g(j) = X(i,j) * (sum(k : X(i,k) * w(k)) - y(i))",
        {"X": _A, "w": _x, "y": _z},
        (_gradient,),
        lambda X, w, y: X.T @ (X @ w - y),
        scale=lambda X, w, y: X.T @ (X @ w + y),
        torch=lambda X, w, y: X.t() @ (X @ w - y),
    ),
    "logistic gradient": Workload(
        "g(j) = X(i,j) * (1 / (1 + exp(-sum(k : X(i,k) * w(k)))) - y(i))",
        {"X": _A, "w": Array((_N,), scale=0.1), "y": _z},
        (_logistic, _logistic_in_numpy),
        lambda X, w, y: X.T @ (1 / (1 + np.exp(-(X @ w))) - y),
        scale=lambda X, w, y: X.T @ (1 + y),
        torch=lambda X, w, y: X.t() @ ((X @ w).sigmoid() - y),
    ),
    "a (b + c), a sparse": Workload(
        "y(i) = a(i) * (b(i) + c(i))",
        {"a": VectorEntries(1_000_000, 20_000), "b": Array((1_000_000,), seed=2), "c": Array((1_000_000,), seed=3)},
        (lambda step, a, b, c: step("y(i) = a(i) * (b(i) + c(i))", out="SparseVector", a=a, b=b, c=c),),
        lambda a, b, c: type(a)((a.data * (b[a.coords[0]] + c[a.coords[0]]), a.coords), shape=a.shape),
        out="SparseVector",
    ),
    "(A @ B).sum()": Workload(
        "s = A(i,j) * B(j,k)",
        {"A": Uniform(20_000, 20_000, 20, seed=1), "B": Uniform(20_000, 20_000, 20, seed=2)},
        (_summm, _summm_by_rows),
        lambda A, B: A.sum(0) @ B.sum(1),
        loop=_lazy,
        written=lambda step, A, B: (A @ B).sum(),
    ),
}
