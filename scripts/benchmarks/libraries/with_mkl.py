"""MKL on matrices as they are given; a handle is made of each beforehand, and nothing is converted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.entries import with_empty_rows
from benchmarks.libraries import IN_PLACE, Call, Calls, Prepare
from benchmarks.libraries.mkl_handles import (
    NO_TRANSPOSE,
    TRANSPOSE,
    Handle,
    add,
    converted,
    multiply,
    multiply_dense,
    product,
    set_threads,
)

__all__ = ["CALLS", "in_place", "plain", "set_threads"]


def plain(result: Any) -> Any:
    return result.to_csr() if isinstance(result, Handle) else result


def in_place(A: Handle, x: Any) -> Mapping[str, Call]:
    """Returns a multiplication into a vector that is there."""
    y = np.zeros(A.shape[0], x.dtype)
    return {IN_PLACE: lambda: multiply(1.0, A, x, 0.0, y, NO_TRANSPOSE)}


def _residual(o: Mapping[str, Any]) -> Calls:
    A, x, b = Handle(o["A"]), o["x"], o["b"]
    y = np.empty_like(b)

    def call() -> Any:
        y[:] = b
        return multiply(-1.0, A, x, 1.0, y)

    return {IN_PLACE: call}


def _mattransmul(o: Mapping[str, Any]) -> Calls:
    A, x, z = Handle(o["A"]), o["x"], o["z"]
    alpha, beta, y = float(o["alpha"]), float(o["beta"]), np.empty_like(z)

    def call() -> Any:
        y[:] = z
        return multiply(alpha, A, x, beta, y, TRANSPOSE)

    return {IN_PLACE: call}


def _spmm(o: Mapping[str, Any]) -> Calls:
    A, X = Handle(o["A"]), o["X"]
    Y = np.zeros((A.shape[0], X.shape[1]), X.dtype)
    return {IN_PLACE: lambda: multiply_dense(A, X, Y)}


def _sum(o: Mapping[str, Any]) -> Call:
    first, second, *others = map(Handle, o.values())

    def call() -> Any:
        total = add(first, second)
        for other in others:
            total = add(total, other)
        return total

    return call


def _product(*, ordered: bool) -> Prepare:
    def prepare(o: Mapping[str, Any]) -> Call:
        A, B = Handle(o["A"]), Handle(o["B"])
        return lambda: product(A, B, ordered=ordered)

    return prepare


def _to_csr(o: Mapping[str, Any]) -> Call:
    A = Handle(o["A"])
    return lambda: converted(A)


CALLS: Mapping[str, Prepare] = {
    **{f"spmv-{storage}": lambda o: in_place(Handle(o["A"]), o["x"]) for storage in ("csr", "coo", "bsr")},
    "residual": _residual,
    "mattransmul-csr": _mattransmul,
    "mattransmul-csc": _mattransmul,
    "spmm": _spmm,
    "spgemm": _product(ordered=True),
    "spgemm-unordered": _product(ordered=False),
    "spmv-dcsr": lambda o: in_place(Handle(with_empty_rows(o["A"])), o["x"]),
    "add": _sum,
    "add-three": _sum,
    "coo-to-csr": _to_csr,
}
