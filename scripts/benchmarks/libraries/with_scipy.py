"""SciPy, on one thread but for products of arrays by NumPy's BLAS; its results are always new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.entries import with_empty_rows
from benchmarks.libraries import Prepare
from benchmarks.libraries.numpy_threads import set_blas_threads
from benchmarks.programs import WORKLOADS
from benchmarks.programs.workload import Plan
from benchmarks.references import total

__all__ = ["CALLS", "SINGLE", "plain", "set_threads"]

set_threads = set_blas_threads


def plain(result: Any) -> Any:
    return result


def _sorted(matrix: Any) -> Any:
    matrix.sort_indices()
    return matrix


def _checked(matrix: Any) -> Any:
    matrix.check_format(full_check=True)  # ranges only, not the order
    return matrix


def _mattransmul(o: Mapping[str, Any]) -> Any:
    turned = o["A"].T
    return lambda: o["alpha"] * (turned @ o["x"]) + o["beta"] * o["z"]


def _spmv_dcsr(o: Mapping[str, Any]) -> Any:
    A, x = with_empty_rows(o["A"]), o["x"]
    return lambda: A @ x


def _called(plan: Plan) -> Prepare:
    return lambda o: lambda: plan(**o)


CALLS: Mapping[str, Prepare] = {
    **{name: _called(workload.scipy) for name, workload in WORKLOADS.items()},
    **{f"spmv-{s}": lambda o: lambda: o["A"] @ o["x"] for s in ("csr", "coo", "bsr", "dia")},
    "residual": lambda o: lambda: o["b"] - o["A"] @ o["x"],
    "mattransmul-csr": _mattransmul,
    "mattransmul-csc": _mattransmul,
    "spmm": lambda o: lambda: o["A"] @ o["X"],
    "spgemm": lambda o: lambda: _sorted(o["A"] @ o["B"]),
    "spgemm-unordered": lambda o: lambda: o["A"] @ o["B"],
    "row-maxima": lambda o: lambda: o["A"].max(axis=1).toarray().ravel(),
    "row-sums": lambda o: lambda: o["A"].sum(axis=1),
    "column-sums": lambda o: lambda: o["A"].sum(axis=0),
    "total-sum": lambda o: lambda: o["A"].sum(),
    "multiply-three": lambda o: lambda: o["A"].multiply(o["B"]).multiply(o["C"]),
    "spmv-dcsr": _spmv_dcsr,
    "spgemm-values": lambda o: lambda: _sorted(o["A"] @ o["B"]),
    "masked-spgemm": lambda o: lambda: o["L"].multiply(o["L"] @ o["L"]),
    "add": lambda o: lambda: total(o),
    "add-three": lambda o: lambda: total(o),
    **dict.fromkeys(("pack", "pack-hashed", "pack-sorted", "coo-to-csr"), lambda o: o["A"].tocsr),
    **dict.fromkeys(("pack-csc", "pack-sorted-csc", "coo-to-csc", "to-csc"), lambda o: o["A"].tocsc),
    "to-coo": lambda o: lambda: o["A"].tocoo(copy=True),  # ours shares nothing with its source either
    "to-dia": lambda o: o["A"].todia,
    "to-bsr": lambda o: lambda: o["A"].tobsr((4, 4)),
    "dia-to-csr": lambda o: o["A"].todia().tocsr,
    "bsr-to-csr": lambda o: o["A"].tobsr((4, 4)).tocsr,
    "validate": lambda o: lambda: _checked(o["A"]),
}

SINGLE = CALLS.keys() - WORKLOADS.keys()  # no BLAS is in these
