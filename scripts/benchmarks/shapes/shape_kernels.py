"""The kernels of the section that `kernels.py` has not; those that compute the same share a name in libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks import references
from benchmarks.data import Matrix, shifted
from benchmarks.entries import fibers, with_empty_rows, without_empty_rows
from benchmarks.kernels import KERNELS, Kernel, Operands
from benchmarks.on_lines import on_lines
from benchmarks.shapes.element_types import TOLERANCES, TYPES, as_type, wide

__all__ = ["SHAPE_KERNELS", "TTM_CHAIN_RANK"]

TTM_CHAIN_RANK = 16
_FEW = 10  # one of so many rows has entries


def _dense(*shape: int, seed: int = 1) -> Any:
    return on_lines(np.random.default_rng(seed).random(shape))


def _alone(A: Matrix) -> Operands:
    return {"A": A}


def _few_rows(A: Matrix) -> Operands:
    """Keeps one of some rows."""
    kept = np.zeros(A.shape[0], np.int64)
    kept[::_FEW] = np.diff(A.indptr)[::_FEW]
    entries = np.repeat(np.arange(A.shape[0]) % _FEW == 0, np.diff(A.indptr))
    starts = np.r_[0, np.cumsum(kept)].astype(np.int32)
    made = scipy.sparse.csr_array((A.data[entries], A.indices[entries], starts), shape=A.shape)
    return {"A": without_empty_rows(made), "x": _dense(A.shape[1])}


def _min_plus(o: Operands) -> Any:
    """Returns the least sum of each row, infinity where it is empty."""
    A, x = o["A"], o["x"]
    found, filled = np.full(A.shape[0], np.inf), np.diff(A.indptr) > 0
    found[filled] = np.minimum.reduceat(A.data + x[A.indices], A.indptr[:-1][filled])
    return found


def _row_maxima(o: Operands) -> Any:
    return o["A"].max(axis=1).toarray().ravel()


def _total(o: Operands) -> Any:
    return np.asarray(o["A"].data.sum())


def _products(A: Matrix) -> Operands:
    """Returns a matrix and two others that share many of its places."""
    return {"A": A, "B": shifted(A, 1), "C": A * 0.5}


def _chain(T: Any) -> Operands:
    ranks = {"B": _dense(T.shape[1], TTM_CHAIN_RANK), "C": _dense(T.shape[2], TTM_CHAIN_RANK, seed=2)}
    return {"T": fibers(T), **ranks}


def _ttm_chain(o: Operands) -> Any:
    """Sums over fibres first, for one column of C at a time."""
    T, B, C = o["T"], o["B"], o["C"]
    i, _, k = references.coordinates(T)
    begins = T.pos[1][:-1]
    starts = np.searchsorted(i[begins], np.arange(T.shape[0] + 1))
    pairs = scipy.sparse.csr_array((np.ones(begins.size), T.crd[1], starts), T.shape[:2])
    found = np.empty((T.shape[0], B.shape[1], C.shape[1]))
    for s in range(C.shape[1]):
        pairs.data[:] = np.add.reduceat(T.values * C[k, s], begins)
        found[:, :, s] = pairs @ B
    return found


def _multiplied(o: Operands) -> Any:
    return o["A"].multiply(o["B"]).multiply(o["C"])


def _widened(reference: Callable[[Operands], Any]) -> Callable[[Operands], Any]:
    return lambda o: reference({name: wide(operand) for name, operand in o.items()})


def _typed(kernel: Kernel, name: str) -> Kernel:
    """Returns a kernel on operands of another element type."""

    def operands(A: Matrix) -> Operands:
        return {key: as_type(operand, name) for key, operand in kernel.operands(A).items()}

    reference = _widened(kernel.reference)
    return replace(kernel, operands=operands, reference=reference, tolerance=TOLERANCES.get(name, 1e-13))


def _twice(name: str) -> Callable[[Operands], int]:
    return lambda o: 2 * references.stored(o[name])


def _chain_flops(o: Operands) -> int:
    return 2 * TTM_CHAIN_RANK * (references.stored(o["T"]) + TTM_CHAIN_RANK * o["T"].crd[1].size)


_ALGEBRA: Mapping[str, Kernel] = {
    "SpMV DCSR, few rows": Kernel("spmv-dcsr", _few_rows, lambda o: with_empty_rows(o["A"]) @ o["x"], _twice("A")),
    "min-plus SpMV": Kernel("min-plus", KERNELS["SpMV CSR"].operands, _min_plus, _twice("A")),
    "row maxima": Kernel("row-maxima", _alone, _row_maxima, references.added),
    "row sums": Kernel("row-sums", _alone, lambda o: o["A"].sum(axis=1), references.added),
    "column sums": Kernel("column-sums", _alone, lambda o: o["A"].sum(axis=0), references.added),
    "total sum": Kernel("total-sum", _alone, _total, references.added),
    "A .* B .* C": Kernel("multiply-three", _products, _multiplied, references.added),
    "SpGEMM, any order": replace(KERNELS["SpGEMM"], call="spgemm-unordered"),
    "TTM chain": Kernel("ttm-chain", _chain, _ttm_chain, _chain_flops),
}
_TYPED = ("SpMV CSR", "SpMM k = 32")

SHAPE_KERNELS: Mapping[str, Kernel] = {
    **_ALGEBRA,
    **{f"{kernel} {name}": _typed(KERNELS[kernel], name) for kernel in _TYPED for name in TYPES if name != "f64"},
}
