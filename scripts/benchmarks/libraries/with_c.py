"""Loops by hand in C (`c_loops/`), as a user of TACO would get or write them, at -O3 -march=native -fopenmp."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.canonical import Entries
from benchmarks.libraries import IN_PLACE, Call, Calls, Prepare
from benchmarks.libraries.compiled_c import compiled, compiler
from benchmarks.on_lines import empty_on_lines
from benchmarks.shapes.element_types import TYPES

__all__ = ["CALLS", "plain", "set_threads"]

compiler()  # says at once where there is none

_NAMES = {dtype: name for name, dtype in TYPES.items()}
_THREADS = [1]
Operands = Mapping[str, Any]


def set_threads(number: int) -> None:
    _THREADS[0] = number
    compiled("products", "f64").omp_set_num_threads(ctypes.c_int(number))  # of the OpenMP that all files share


def plain(result: Any) -> Any:
    return result() if callable(result) else result  # what SciPy's classes look at takes its time


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, (float, np.ndarray)) else ctypes.c_int(value)


class _Loops:
    """A function of a file for one element type, with arguments that are looked at once.

    Args:
        where: the file and the function, as in `products.spmv_csr`.
        element: the type.
        arguments: the first ones; those of a call come behind them.
    """

    def __init__(self, where: str, element: Any, *arguments: Any) -> None:
        file, _, name = where.partition(".")
        arrays = {value.dtype for value in arguments if isinstance(value, np.ndarray) and value.ndim}
        if element not in _NAMES or not arrays <= {element, np.dtype(np.int32)}:
            raise TypeError(f"expected elements of one type of {', '.join(TYPES)}, but got {arrays | {element}}")
        self._function = getattr(compiled(file, _NAMES[element]), name)
        self._function.restype = None
        self._kept, self._known = arguments, [_argument(value) for value in arguments]

    def __call__(self, *more: Any) -> None:
        self._function(*self._known, *map(_argument, more))


def _writes(where: str, result: Any, *arguments: Any, pieces: bool = False) -> Calls:
    """Returns a call that writes an array, and is told the number of threads where there are pieces."""
    loops = _Loops(where, result.dtype, *arguments, result)

    def call() -> Any:
        loops(*(_THREADS if pieces else ()))
        return result

    return {IN_PLACE: call}


def _csr(A: Any) -> tuple[Any, Any, Any]:
    return A.indptr, A.indices, A.data


def _like(A: Any, *shape: int) -> Any:
    """Returns an array for a result, of the element type of an operand."""
    return empty_on_lines(shape, (A.data if scipy.sparse.issparse(A) else A.values).dtype)


def _spmv_csr(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    return _writes("products.spmv_csr", _like(A, A.shape[0]), A.shape[0], *_csr(A), x)


def _spmv_coo(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    entries = A.shape[0], A.nnz, A.row, A.col, A.data
    return _writes("products.spmv_coo", _like(A, A.shape[0]), *entries, x, pieces=True)


def _spmv_dcsr(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    rows = A.shape[0], A.rows.size, A.rows, A.pos, A.crd, A.values
    return _writes("products.spmv_dcsr", _like(A, A.shape[0]), *rows, x)


def _spmv_ell(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    slots = A.shape[0], A.columns.shape[0], A.columns, A.values
    return _writes("products.spmv_ell", _like(A, A.shape[0]), *slots, x)


def _spmv_bsr(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    side = A.blocksize[0]
    return _writes("products.spmv_bsr", _like(A, A.shape[0]), A.shape[0] // side, side, *_csr(A), x)


def _residual(o: Operands) -> Calls:
    A, x, b = o["A"], o["x"], o["b"]
    return _writes("products.residual", _like(A, A.shape[0]), A.shape[0], b, *_csr(A), x)


def _mattransmul(o: Operands) -> Calls:
    A, x, z = o["A"], o["x"], o["z"]
    first = *A.shape, float(o["alpha"]), *_csr(A), x
    return _writes("products.mattransmul", _like(A, A.shape[1]), *first, float(o["beta"]), z, pieces=True)


def _mattransmul_columns(o: Operands) -> Calls:
    A, x, z = o["A"], o["x"], o["z"]
    first = A.shape[1], float(o["alpha"]), *_csr(A), x
    return _writes("products.mattransmul_columns", _like(A, A.shape[1]), *first, float(o["beta"]), z)


def _spmv_dia(o: Operands) -> Calls:
    A, x = o["A"], o["x"]
    extents = *A.shape, A.offsets.size, A.data.shape[1]
    return _writes("products.spmv_dia", _like(A, A.shape[0]), *extents, A.offsets.astype(np.int32), A.data, x)


def _spmm(o: Operands) -> Calls:
    A, X = o["A"], o["X"]
    return _writes("products.spmm", _like(A, A.shape[0], X.shape[1]), A.shape[0], X.shape[1], *_csr(A), X)


def _by_rows(name: str, *, columns: bool = False, crd: bool = False, x: bool = False) -> Prepare:
    """Returns a reduction of rows, told what it reads besides positions and values."""

    def prepare(o: Operands) -> Calls:
        A = o["A"]
        extents = A.shape if columns else A.shape[:1]
        parts = _csr(A) if crd else (A.indptr, A.data)
        return _writes(f"reductions.{name}", _like(A, A.shape[0]), *extents, *parts, *((o["x"],) if x else ()))

    return prepare


def _column_sums(o: Operands) -> Calls:
    A = o["A"]
    result = _like(A, A.shape[1])
    return _writes("reductions.column_sums", result, A.shape[1], A.nnz, A.indices, A.data, pieces=True)


def _total_sum(o: Operands) -> Call:
    A = o["A"]
    result = _like(A, 1)
    loops = _Loops("reductions.total_sum", A.dtype, A.nnz, A.data, result)

    def call() -> Any:
        loops()
        return result[0]

    return call


def _sddmm(o: Operands) -> Call:
    S, X, Y = o["S"], o["X"], o["Y"]
    loops = _Loops("sampled.sddmm", S.dtype, S.shape[0], X.shape[1], *_csr(S), X, Y)

    def call() -> Any:
        sampled = np.empty_like(S.data)
        loops(sampled)
        return lambda: scipy.sparse.csr_array((sampled, S.indices, S.indptr), shape=S.shape)

    return call


def _rows(
    starts: Any, shape: tuple[int, int], count: Callable[..., None], fill: Callable[..., None], *more: Any
) -> Any:
    """Counts the entries of rows, then fills them."""
    count(starts)
    columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    fill(starts, columns, values, *more)
    return lambda: scipy.sparse.csr_array((values, columns, starts), shape=shape)


def _merged(name: str) -> Prepare:
    """Returns what counts the entries of rows of several matrices, then fills them."""

    def prepare(o: Operands) -> Call:
        shape, matrices = o["A"].shape, list(o.values())
        places = [array for A in matrices for array in (A.indptr, A.indices)]
        count = _Loops(f"merges.{name}_count", o["A"].dtype, shape[0], *places)
        arrays = [array for A in matrices for array in _csr(A)]
        fill = _Loops(f"merges.{name}_fill", o["A"].dtype, shape[0], *arrays)
        return lambda: _rows(np.empty(shape[0] + 1, np.int32), shape, count, fill)

    return prepare


def _spgemm(*, ordered: bool) -> Prepare:
    def prepare(o: Operands) -> Call:
        A, B = o["A"], o["B"]
        shape = A.shape[0], B.shape[1]
        count = _Loops("merges.spgemm_count", A.dtype, *shape, A.indptr, A.indices, B.indptr, B.indices)
        fill = _Loops("merges.spgemm_fill", A.dtype, *shape, *_csr(A), *_csr(B))
        return lambda: _rows(np.empty(shape[0] + 1, np.int32), shape, count, fill, int(ordered))

    return prepare


def _lines(shape: tuple[int, ...], roots: Any, starts: Any, columns: Any, sums: Any) -> Entries:
    i = np.repeat(roots, np.diff(starts)).astype(np.int64)
    return Entries(i * shape[1] + columns, sums)


def _ttv_csf(o: Operands) -> Call:
    """The result has the fibres of the tensor, whose arrays it shares."""
    T, v = o["T"], o["v"]
    loops = _Loops("tensors.ttv_csf", v.dtype, T.crd[1].size, T.pos[1], T.crd[2], T.values, v)

    def call() -> Any:
        sums = np.empty(T.crd[1].size)
        loops(sums)
        return lambda: _lines(T.shape, T.crd[0], T.pos[0], T.crd[1], sums)

    return call


def _ttv_coo(o: Operands) -> Call:
    T, v = o["T"], o["v"]
    count = _Loops("tensors.ttv_coo_count", v.dtype, T.values.size, T.coords)
    fill = _Loops("tensors.ttv_coo_fill", v.dtype, T.values.size, T.coords, T.values, v)

    def call() -> Any:
        pieces = _THREADS[0]
        roots, fibres = np.empty(pieces + 1, np.int32), np.empty(pieces + 1, np.int32)
        count(roots, fibres, pieces)
        crd0, pos1 = np.empty(roots[-1], np.int32), np.empty(roots[-1] + 1, np.int32)
        crd1, sums = np.empty(fibres[-1], np.int32), np.empty(fibres[-1])
        fill(roots, fibres, crd0, pos1, crd1, sums, pieces)
        return lambda: _lines(T.shape, crd0, pos1, crd1, sums)

    return call


def _ttm_chain(o: Operands) -> Calls:
    T, B, C = o["T"], o["B"], o["C"]
    levels = T.crd[0].size, T.crd[0], T.pos[0], T.crd[1], T.pos[1], T.crd[2], T.values
    return _writes("tensors.ttm_chain", _like(T, T.shape[0], B.shape[1], C.shape[1]), T.shape[0], *levels, B, C)


def _ttm_csf(o: Operands) -> Call:
    T, M = o["T"], o["M"]
    loops = _Loops("tensors.ttm_csf", M.dtype, T.crd[1].size, T.pos[1], T.crd[2], T.values, M)

    def call() -> Any:
        sums = np.empty((T.crd[1].size, M.shape[1]))
        loops(sums)
        return lambda: _lines(T.shape, T.crd[0], T.pos[0], T.crd[1], sums)

    return call


def _mttkrp_csf(o: Operands) -> Calls:
    T, B, C = o["T"], o["B"], o["C"]
    levels = T.crd[0].size, T.crd[0], T.pos[0], T.crd[1], T.pos[1], T.crd[2], T.values
    return _writes("tensors.mttkrp_csf", _like(T, T.shape[0], B.shape[1]), T.shape[0], *levels, B, C)


def _mttkrp_coo(o: Operands) -> Calls:
    T, B, C = o["T"], o["B"], o["C"]
    entries = T.shape[0], T.values.size, T.coords, T.values
    return _writes("tensors.mttkrp_coo", _like(T, T.shape[0], B.shape[1]), *entries, B, C, pieces=True)


def _packed(name: str, *, columns: bool) -> Prepare:
    """Returns what makes rows of coordinates."""

    def prepare(o: Operands) -> Call:
        A = o["A"]
        extents = A.shape if columns else A.shape[:1]
        loops = _Loops(f"packing.{name}", A.dtype, A.nnz, *extents, A.row, A.col, A.data)
        return _arrays(loops, A.shape[0], A.nnz, lambda *parts: scipy.sparse.csr_array(parts, shape=A.shape))

    return prepare


def _to_csc(o: Operands) -> Call:
    A = o["A"]
    loops = _Loops("packing.transpose", A.dtype, *A.shape, *_csr(A))
    return _arrays(loops, A.shape[1], A.nnz, lambda *parts: scipy.sparse.csc_array(parts, shape=A.shape))


def _arrays(loops: _Loops, outer: int, entries: int, made: Callable[..., Any]) -> Call:
    """Returns what lets loops fill new arrays of a matrix."""

    def call() -> Any:
        starts, inner, values = np.empty(outer + 1, np.int32), np.empty(entries, np.int32), np.empty(entries)
        loops(starts, inner, values)
        return lambda: made(values, inner, starts)

    return call


CALLS: Mapping[str, Prepare] = {
    "spmv-csr": _spmv_csr,
    "spmv-coo": _spmv_coo,
    "spmv-dcsr": _spmv_dcsr,
    "spmv-ell": _spmv_ell,
    "spmv-bsr": _spmv_bsr,
    "residual": _residual,
    "mattransmul-csr": _mattransmul,
    "mattransmul-csc": _mattransmul_columns,
    "spmv-dia": _spmv_dia,
    "spmm": _spmm,
    "sddmm": _sddmm,
    "spgemm": _spgemm(ordered=True),
    "spgemm-unordered": _spgemm(ordered=False),
    "min-plus": _by_rows("min_plus", crd=True, x=True),
    "row-maxima": _by_rows("row_maxima", columns=True),
    "row-sums": _by_rows("row_sums"),
    "column-sums": _column_sums,
    "total-sum": _total_sum,
    "add": _merged("add"),
    "multiply-three": _merged("multiply"),
    "ttv-csf": _ttv_csf,
    "ttv-coo": _ttv_coo,
    "ttm-csf": _ttm_csf,
    "ttm-chain": _ttm_chain,
    "mttkrp-csf": _mttkrp_csf,
    "mttkrp-coo": _mttkrp_coo,
    "pack": _packed("coo_to_csr", columns=True),
    "pack-sorted": _packed("sorted_coo_to_csr", columns=False),
    "coo-to-csr": _packed("sorted_coo_to_csr", columns=False),
    "to-csc": _to_csc,
}
