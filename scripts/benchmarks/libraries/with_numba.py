"""Loops by hand, compiled by numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse

from benchmarks.canonical import Entries
from benchmarks.entries import Coordinates, DoublyCompressed, Ell, Fibers
from benchmarks.libraries import IN_PLACE, Call, Calls, Prepare
from benchmarks.libraries import loops_dense as dense
from benchmarks.libraries import loops_reductions as reductions
from benchmarks.libraries import loops_sparse as sparse
from benchmarks.libraries import loops_tensors as tensors

__all__ = ["CALLS", "plain", "set_threads"]

_THREADS = [1]


def set_threads(number: int) -> None:
    _THREADS[0] = number
    numba.set_num_threads(number)


# Those that multiply coordinates by an extent.
_ADD_TO_PLACES = (dense.spmv_bsr,)
_SERIAL = (tensors.add, tensors.innerprod)
# Sums that may be reordered become vector code; where that means gathers, it was slower by up to eight times.
_REORDERED = (sparse.sddmm, reductions.total_sum, reductions.row_maxima)


# Where the caller has named no folder, .build: beside the sources the two would be one file again.
_CACHE = Path(numba.config.CACHE_DIR or Path(__file__).resolve().parents[3] / ".build" / "numba")  # type: ignore[attr-defined]


@lru_cache
def _compiled(loops: Callable[..., Any], *, parallel: bool) -> Any:
    fast = True if loops in _REORDERED else {"contract"}
    # Its cache knows code by the text of a function alone: what one thread runs would be found for several.
    options = f"{'parallel' if parallel else 'serial'}-{'fast' if fast is True else 'contract'}"
    numba.config.CACHE_DIR = str(_CACHE / options)  # type: ignore[attr-defined]
    return numba.njit(cache=True, fastmath=fast, parallel=parallel)(loops)


def _run(loops: Callable[..., Any], *arguments: Any) -> Any:
    """Runs loops as they were compiled for the number of threads that is set."""
    return _compiled(loops, parallel=_THREADS[0] > 1 and loops not in _SERIAL)(*arguments)


def _arrays(operand: Any) -> list[Any]:
    """Returns the arrays of an operand, outermost level first, values last."""
    match operand:
        case Fibers():
            return [operand.crd[0], operand.pos[0], operand.crd[1], operand.pos[1], operand.crd[2], operand.values]
        case Coordinates():
            return [operand.coords, operand.values]
        case DoublyCompressed():
            return [operand.rows, operand.pos, operand.crd, operand.values]
        case Ell():
            return [operand.columns, operand.values]
    match getattr(operand, "format", None):
        case None:
            return [operand]
        case "coo":
            return [operand.row, operand.col, operand.data]
        case "dia":
            return [operand.offsets, operand.data]
    return [operand.indptr, operand.indices, operand.data]


def _taken(o: Mapping[str, Any]) -> list[Any]:
    return [array for operand in o.values() for array in _arrays(operand)]


def _unsigned(arrays: Sequence[Any]) -> list[Any]:
    """Returns arrays with positions and coordinates as unsigned numbers: signed ones may count from an array's end.

    Each use of those as an index is a comparison. Loops that add to them stay with signed ones, since numba's sum of an
    unsigned and a signed number may be in floating point.
    """
    return [array.view(np.uint32) if array.dtype == np.int32 and array.ndim else array for array in arrays]


def _in_place(loops: Callable[..., Any], shape: Callable[[Mapping[str, Any]], Any], *, pieces: bool = False) -> Prepare:
    """Returns what runs loops that write an array of a shape, and take the number of pieces where there are any."""

    def prepare(o: Mapping[str, Any]) -> Calls:
        arguments = _taken(o)
        result = np.zeros(shape(o), arguments[-1].dtype)
        arguments = arguments if loops in _ADD_TO_PLACES else _unsigned(arguments)

        def call() -> Any:
            _run(loops, *arguments, result, *(_THREADS if pieces else ()))
            return result

        return {IN_PLACE: call}

    return prepare


def _new(loops: Callable[..., Any], made: Callable[..., Any], *, pieces: bool = False) -> Prepare:
    """Returns what runs loops that return arrays, of which something is made."""

    def prepare(o: Mapping[str, Any]) -> Call:
        arguments = _taken(o)
        return lambda: made(o, *_run(loops, *arguments, *(_THREADS if pieces else ())))

    return prepare


def _matrix(o: Mapping[str, Any], pos: Any, crd: Any, values: Any) -> Any:
    rows, columns = (next(iter(o.values())).shape[0], list(o.values())[-1].shape[1])
    return _Csr(pos, crd, values, (rows, columns))


class _Csr:
    """The arrays of a result; SciPy's class looks at them, which takes its time."""

    def __init__(self, pos: Any, crd: Any, values: Any, shape: tuple[int, int]) -> None:
        self.parts, self.shape = (values, crd, pos), shape


class _Lines:
    """The arrays of a result by (i, j)."""

    def __init__(self, o: Mapping[str, Any], *parts: Any) -> None:
        self.columns, self.parts = o["T"].shape[1], parts


class _Tensor:
    """The arrays of a result in CSF."""

    def __init__(self, o: Mapping[str, Any], *parts: Any) -> None:
        self.shape, self.parts = o["T"].shape, parts


def plain(result: Any) -> Any:
    match result:
        case _Csr():
            return scipy.sparse.csr_array(result.parts, shape=result.shape)
        case _Lines():
            crd0, pos1, crd1, values = result.parts
            return Entries(np.repeat(crd0, np.diff(pos1)).astype(np.int64) * result.columns + crd1, values)
        case _Tensor():
            crd0, pos1, crd1, pos2, crd2, values = result.parts
            return Fibers(result.shape, (crd0, crd1, crd2), (pos1, pos2), values)
    return result


def _plus_three(o: Mapping[str, Any]) -> Call:
    T, U, V = (_arrays(operand) for operand in o.values())
    return lambda: _Tensor(o, *_run(tensors.add, *_run(tensors.add, *T, *U), *V))


def _innerprod(o: Mapping[str, Any]) -> Call:
    arguments = _taken(o)
    return lambda: _run(tensors.innerprod, *arguments)


def _spgemm(*, ordered: bool) -> Prepare:
    def prepare(o: Mapping[str, Any]) -> Call:
        arguments, columns = _taken(o), o["B"].shape[1]
        return lambda: _matrix(o, *_run(sparse.spgemm, *arguments, columns, ordered, *_THREADS))

    return prepare


def _ttv_csf(o: Mapping[str, Any]) -> Call:
    """The result has the fibres of the tensor, whose arrays it shares."""
    T = o["T"]
    arguments = _unsigned([T.pos[1], T.crd[2], T.values, o["v"]])
    return lambda: _Lines(o, T.crd[0], T.pos[0], T.crd[1], _run(tensors.ttv_csf, *arguments))


def _ttm_csf(o: Mapping[str, Any]) -> Call:
    T = o["T"]
    arguments = _unsigned([T.pos[1], T.crd[2], T.values, o["M"]])
    return lambda: _Lines(o, T.crd[0], T.pos[0], T.crd[1], _run(tensors.ttm_csf, *arguments))


def _row_maxima(o: Mapping[str, Any]) -> Calls:
    A = o["A"]
    (starts,), y = _unsigned([A.indptr]), np.zeros(A.shape[0])

    def call() -> Any:
        _run(reductions.row_maxima, A.shape[1], starts, A.data, y)
        return y

    return {IN_PLACE: call}


def _total_sum(o: Mapping[str, Any]) -> Call:
    values = o["A"].data
    return lambda: _run(reductions.total_sum, values)


def _rows(o: Mapping[str, Any]) -> int:
    return int(o["A"].shape[0])


CALLS: Mapping[str, Prepare] = {
    "spmv-csr": _in_place(dense.spmv_csr, _rows),
    "spmv-coo": _in_place(dense.spmv_coo, _rows, pieces=True),
    "spmv-bsr": _in_place(dense.spmv_bsr, _rows),
    "spmv-ell": _in_place(dense.spmv_ell, _rows),
    "spmv-dia": _in_place(dense.spmv_dia, _rows),
    "residual": _in_place(dense.residual, _rows),
    "mattransmul-csr": _in_place(dense.mattransmul_rows, lambda o: o["z"].shape, pieces=True),
    "mattransmul-csc": _in_place(dense.mattransmul_columns, lambda o: o["z"].shape),
    "spmm": _in_place(dense.spmm, lambda o: (_rows(o), o["X"].shape[1])),
    "mttkrp-csf": _in_place(dense.mttkrp_csf, lambda o: (o["T"].shape[0], o["B"].shape[1])),
    "mttkrp-coo": _in_place(dense.mttkrp_coo, lambda o: (o["T"].shape[0], o["B"].shape[1]), pieces=True),
    "sddmm": _new(sparse.sddmm, lambda o, pos, crd, values: _Csr(pos, crd, values, o["S"].shape)),
    "spgemm": _spgemm(ordered=True),
    "add": _new(sparse.add, _matrix),
    "add-three": _new(sparse.add_three, _matrix),
    "spgemm-unordered": _spgemm(ordered=False),
    "multiply-three": _new(sparse.multiply_three, _matrix),
    "spmv-dcsr": _in_place(dense.spmv_dcsr, _rows),
    "min-plus": _in_place(reductions.min_plus, _rows),
    "row-maxima": _row_maxima,
    "row-sums": _in_place(reductions.row_sums, _rows),
    "column-sums": _in_place(reductions.column_sums, lambda o: o["A"].shape[1], pieces=True),
    "total-sum": _total_sum,
    "ttv-csf": _ttv_csf,
    "ttv-coo": _new(tensors.ttv_coo, _Lines, pieces=True),
    "ttm-csf": _ttm_csf,
    "ttm-coo": _new(tensors.ttm_coo, _Lines, pieces=True),
    "ttm-chain": _in_place(tensors.ttm_chain, lambda o: (o["T"].shape[0], o["B"].shape[1], o["C"].shape[1])),
    "innerprod": _innerprod,
    "plus2": _new(tensors.add, _Tensor),
    "plus3": _plus_three,
}
