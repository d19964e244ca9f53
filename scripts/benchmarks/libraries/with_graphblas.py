"""SuiteSparse:GraphBLAS through python-graphblas.

Work that it may put off (sorting rows) is done within the time that is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import graphblas as gb
import numpy as np
import scipy.sparse
from graphblas import Matrix, Scalar, Vector, binary, monoid, semiring

from benchmarks.entries import DoublyCompressed, with_empty_rows
from benchmarks.libraries import Call, Prepare

__all__ = ["CALLS", "plain", "set_threads"]


class _Least:
    """A vector whose missing entries are infinite."""

    def __init__(self, vector: Any) -> None:
        self.vector, self.wait = vector, vector.wait


def set_threads(number: int) -> None:
    gb.ss.config["nthreads"] = number


def plain(result: Any) -> Any:
    match result:
        case _Least():
            return result.vector.to_dense(fill_value=np.inf)
        case Scalar():
            return np.asarray(result.value)
        case Vector():
            return result.to_dense(fill_value=0.0)
        case Matrix() if result.ss.format in ("fullr", "bitmapr"):
            return result.to_dense(fill_value=0.0)
        case Matrix():
            return gb.io.to_scipy_sparse(result, "csr")
    return result


def _taken(operand: Any) -> Any:
    if isinstance(operand, DoublyCompressed):
        return gb.io.from_scipy_sparse(with_empty_rows(operand)).dup()  # keeps its rows in a list where few have any
    if scipy.sparse.issparse(operand):
        return gb.io.from_scipy_sparse(operand)
    match getattr(operand, "ndim", 0):
        case 0:
            return operand
        case 1:
            return Vector.from_dense(operand)
    return Matrix.from_dense(operand)


def _all(call: Callable[..., Any]) -> Prepare:
    def prepare(o: Mapping[str, Any]) -> Call:
        operands = {name: _taken(operand) for name, operand in o.items()}

        def finished() -> Any:
            result = call(**operands)
            result.wait()
            return result

        return finished

    return prepare


def _spmv(A: Any, x: Any) -> Any:
    return A.mxv(x, semiring.plus_times).new()


def _residual(b: Any, A: Any, x: Any) -> Any:
    y = b.dup()
    y(binary.minus) << A.mxv(x, semiring.plus_times)
    return y


def _mattransmul(alpha: Any, A: Any, x: Any, beta: Any, z: Any) -> Any:
    y = z.apply(binary.times, right=float(beta)).new()
    y(binary.plus) << A.T.mxv(x.apply(binary.times, right=float(alpha)).new(), semiring.plus_times)
    return y


def _spmm(A: Any, X: Any) -> Any:
    return A.mxm(X, semiring.plus_times).new()


def _sddmm(S: Any, X: Any, Y: Any) -> Any:
    at_entries = X.mxm(Y.T, semiring.plus_times).new(mask=S.S)
    return at_entries.ewise_mult(S, binary.times).new()


def _spgemm(A: Any, B: Any) -> Any:
    return A.mxm(B, semiring.plus_times).new()


def _triangles(L: Any) -> Any:
    return L.mxm(L, semiring.plus_times).new(mask=L.S).ewise_mult(L, binary.times).new()


def _add(A: Any, B: Any, C: Any = None) -> Any:
    total = A.ewise_add(B, binary.plus).new()
    return total if C is None else total.ewise_add(C, binary.plus).new()


def _min_plus(A: Any, x: Any) -> Any:
    return _Least(A.mxv(x, semiring.min_plus).new())


def _row_maxima(A: Any) -> Any:
    return A.reduce_rowwise(monoid.max).new()


def _row_sums(A: Any) -> Any:
    return A.reduce_rowwise(monoid.plus).new()


def _column_sums(A: Any) -> Any:
    return A.reduce_columnwise(monoid.plus).new()


def _total_sum(A: Any) -> Any:
    return A.reduce_scalar(monoid.plus).new()


def _multiply_three(A: Any, B: Any, C: Any) -> Any:
    return A.ewise_mult(B, binary.times).new().ewise_mult(C, binary.times).new()


CALLS: Mapping[str, Prepare] = {
    "spmv-csr": _all(_spmv),
    "residual": _all(_residual),
    "mattransmul-csr": _all(_mattransmul),
    "mattransmul-csc": _all(_mattransmul),
    "spmm": _all(_spmm),
    "sddmm": _all(_sddmm),
    "spgemm": _all(_spgemm),
    "masked-spgemm": _all(_triangles),
    "add": _all(_add),
    "add-three": _all(_add),
    "spmv-dcsr": _all(_spmv),
    "spgemm-unordered": _all(_spgemm),
    "min-plus": _all(_min_plus),
    "row-maxima": _all(_row_maxima),
    "row-sums": _all(_row_sums),
    "column-sums": _all(_column_sums),
    "total-sum": _all(_total_sum),
    "multiply-three": _all(_multiply_three),
}
