"""MKL's sparse BLAS through ctypes, on the arrays of SciPy's matrices as they are.

The calls of the package `sparse-dot-mkl` make a handle each time and lack BSR, COO, addition and the optimize step.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref, c_double, c_float, c_int, c_void_p
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

__all__ = [
    "NO_TRANSPOSE",
    "TRANSPOSE",
    "Handle",
    "add",
    "converted",
    "multiply",
    "multiply_dense",
    "product",
    "set_threads",
    "solve",
    "threads",
]

NO_TRANSPOSE, TRANSPOSE = 10, 11
_ROW_MAJOR = 101


def _library() -> ctypes.CDLL:
    """Loads the runtime of PyPI's `mkl`, which puts its libraries beside the interpreter's.

    Raises:
        ImportError: where it is not installed.
    """
    try:
        found = [Path(str(path.locate())) for path in files("mkl") or () if path.name.startswith("libmkl_rt.so")]
    except ModuleNotFoundError as error:
        raise ImportError("expected the package mkl, but it is not installed") from error
    if not found:
        raise ImportError(f"expected libmkl_rt.so in the package mkl, but found none under {sys.prefix}")
    return ctypes.CDLL(str(found[0].resolve()), mode=ctypes.RTLD_GLOBAL)


_MKL = _library()


class _Description(ctypes.Structure):
    _fields_ = (("type", c_int), ("mode", c_int), ("diag", c_int))


_GENERAL = _Description(20, 0, 0)
_LOWER = _Description(23, 40, 50)  # the lower triangle, whose diagonal is stored


def set_threads(number: int) -> None:
    _MKL.MKL_Set_Num_Threads(c_int(number))


def threads() -> int:
    """Returns how many threads are used at most."""
    return int(_MKL.MKL_Get_Max_Threads())


def _check(name: str, *arguments: Any) -> None:
    status = getattr(_MKL, name)(*arguments)
    if status:
        raise RuntimeError(f"expected {name} to return 0, but got {status}")


def _pointer(array: Any) -> c_void_p:
    return c_void_p(array.ctypes.data)


class _Complex64(ctypes.Structure):
    _fields_ = (("real", c_float), ("imag", c_float))


# The letter of MKL's functions, and a number as they take it, by element type.
_KINDS: Mapping[str, tuple[str, Callable[[float], Any]]] = {
    "float64": ("d", c_double),
    "float32": ("s", c_float),
    "complex64": ("c", lambda number: _Complex64(number, 0.0)),
}


def _kind(dtype: Any) -> tuple[str, Callable[[float], Any]]:
    if dtype.name not in _KINDS:
        raise TypeError(f"expected elements of {', '.join(_KINDS)}, but got {dtype}")
    return _KINDS[dtype.name]


class Handle:
    """MKL's view of a matrix, destroyed with this object.

    Args:
        matrix: of SciPy, in CSR, CSC, BSR or COO, with 32-bit indices; or a handle that MKL returned.
        shape: of the latter.
    """

    def __init__(self, matrix: Any, shape: tuple[int, int] | None = None) -> None:
        self._kept, self.handle = matrix, c_void_p()
        if isinstance(matrix, c_void_p):
            assert shape is not None
            self.handle, self.shape = matrix, shape
            return
        self.shape, (letter, _) = matrix.shape, _kind(matrix.dtype)
        rows, columns = map(c_int, matrix.shape)
        if matrix.format == "coo":
            where = _pointer(matrix.row), _pointer(matrix.col), _pointer(matrix.data)
            _check(
                f"mkl_sparse_{letter}_create_coo",
                byref(self.handle),
                c_int(0),
                rows,
                columns,
                c_int(matrix.nnz),
                *where,
            )
            return
        starts, stride = matrix.indptr.ctypes.data, matrix.indptr.itemsize
        arrays = c_void_p(starts), c_void_p(starts + stride), _pointer(matrix.indices), _pointer(matrix.data)
        if matrix.format == "bsr":
            side = matrix.blocksize[0]
            blocks = c_int(matrix.shape[0] // side), c_int(matrix.shape[1] // side), c_int(side)
            _check(f"mkl_sparse_{letter}_create_bsr", byref(self.handle), c_int(0), c_int(_ROW_MAJOR), *blocks, *arrays)
            return
        _check(f"mkl_sparse_{letter}_create_{matrix.format}", byref(self.handle), c_int(0), rows, columns, *arrays)

    def optimized(self, operation: int = NO_TRANSPOSE, calls: int = 1000) -> Handle:
        """Lets MKL look at the matrix and convert it for many multiplications."""
        _check("mkl_sparse_set_mv_hint", self.handle, c_int(operation), _GENERAL, c_int(calls))
        _check("mkl_sparse_optimize", self.handle)
        return self

    def optimized_to_solve(self, sides: int, calls: int = 1000) -> Handle:
        """Lets MKL look at a lower triangle for many systems of so many right sides."""
        if sides == 1:
            _check("mkl_sparse_set_sv_hint", self.handle, c_int(NO_TRANSPOSE), _LOWER, c_int(calls))
        else:
            layout = c_int(_ROW_MAJOR), c_int(sides), c_int(calls)
            _check("mkl_sparse_set_sm_hint", self.handle, c_int(NO_TRANSPOSE), _LOWER, *layout)
        _check("mkl_sparse_optimize", self.handle)
        return self

    def to_csr(self) -> Any:
        """Returns a copy in SciPy's CSR."""
        base, rows, columns = c_int(), c_int(), c_int()
        starts, ends, inner, values = (c_void_p() for _ in range(4))
        sizes, arrays = map(byref, (base, rows, columns)), map(byref, (starts, ends, inner, values))
        _check("mkl_sparse_d_export_csr", self.handle, *sizes, *arrays)
        first = _copied(starts, rows.value, c_int)
        last = _copied(ends, rows.value, c_int)
        count = int(last[-1]) if rows.value else 0
        parts = _copied(values, count, c_double), _copied(inner, count, c_int), np.r_[first, last[-1:]]
        return scipy.sparse.csr_array(parts, shape=(rows.value, columns.value))

    def __del__(self) -> None:
        _MKL.mkl_sparse_destroy(self.handle)


def _copied(pointer: c_void_p, count: int, kind: Any) -> Any:
    return np.ctypeslib.as_array(ctypes.cast(pointer, POINTER(kind)), (count,)).copy() if count else np.empty(0, kind)


def multiply(alpha: float, A: Handle, x: Any, beta: float, y: Any, operation: int = NO_TRANSPOSE) -> Any:
    """Computes y = alpha op(A) x + beta y."""
    letter, number = _kind(y.dtype)
    vectors = _pointer(x), number(beta), _pointer(y)
    _check(f"mkl_sparse_{letter}_mv", c_int(operation), number(alpha), A.handle, _GENERAL, *vectors)
    return y


def multiply_dense(A: Handle, X: Any, Y: Any) -> Any:
    """Computes Y = A X for matrices by rows."""
    k, (letter, number) = c_int(X.shape[1]), _kind(Y.dtype)
    right = c_int(_ROW_MAJOR), _pointer(X), k, k, number(0.0), _pointer(Y), k
    _check(f"mkl_sparse_{letter}_mm", c_int(NO_TRANSPOSE), number(1.0), A.handle, _GENERAL, *right)
    return Y


def solve(A: Handle, b: Any, x: Any) -> Any:
    """Solves A x = b for a lower triangle and one right side, or many by rows."""
    letter, number = _kind(x.dtype)
    if x.ndim == 1:
        vectors = _pointer(b), _pointer(x)
        _check(f"mkl_sparse_{letter}_trsv", c_int(NO_TRANSPOSE), number(1.0), A.handle, _LOWER, *vectors)
        return x
    k = c_int(x.shape[1])
    sides = c_int(_ROW_MAJOR), _pointer(b), k, k, _pointer(x), k
    _check(f"mkl_sparse_{letter}_trsm", c_int(NO_TRANSPOSE), number(1.0), A.handle, _LOWER, *sides)
    return x


def product(A: Handle, B: Handle, *, ordered: bool = True) -> Handle:
    """Returns A B, with sorted rows if asked for."""
    result = c_void_p()
    _check("mkl_sparse_spmm", c_int(NO_TRANSPOSE), A.handle, B.handle, byref(result))
    if ordered:
        _check("mkl_sparse_order", result)
    return Handle(result, (A.shape[0], B.shape[1]))


def add(A: Handle, B: Handle) -> Handle:
    """Returns A + B."""
    result = c_void_p()
    _check("mkl_sparse_d_add", c_int(NO_TRANSPOSE), A.handle, c_double(1.0), B.handle, byref(result))
    return Handle(result, A.shape)


def converted(A: Handle) -> Handle:
    """Returns a matrix of coordinates in CSR."""
    result = c_void_p()
    _check("mkl_sparse_convert_csr", A.handle, c_int(NO_TRANSPOSE), byref(result))
    return Handle(result, A.shape)
