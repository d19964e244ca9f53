"""The memory of dense results: large ones begin with a cache line, and have that of results that are gone."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native

_LINE = 64
_SPMM = "C(i,j) = A(i,k) * B(k,j)"
_CHAIN = "D(i,l) = A(i,j) * B(j,k) * C(k,l)"  # by BLAS, its last step in loops


def _rows(rows: int) -> scipy.sparse.csr_array:
    return scipy.sparse.eye_array(rows, format="csr")


@pytest.mark.parametrize("rows", [1024, 3000, 20_000])  # from as many bytes as count as large, to mapped blocks
def test_large_results_begin_with_a_cache_line(rows: int) -> None:
    A, B = ms.tensor(_rows(rows)), np.random.default_rng(0).random((rows, 8))
    kernel = ms.compile(_SPMM, A=A, B=B)
    for _ in range(3):  # the first call, and those that know what is allocated
        found = kernel(A, B)
        assert found.nbytes >= _native.LARGE_ARRAY
        assert found.ctypes.data % _LINE == 0
        assert found.flags.c_contiguous
        assert found.flags.writeable
        np.testing.assert_array_equal(found, B)


def test_large_products_of_arrays_begin_with_a_cache_line() -> None:
    A, B = ms.tensor(_rows(2000)), np.random.default_rng(0).random((2000, 64))
    C = np.random.default_rng(1).random((64, 8))
    kernel = ms.compile(_CHAIN, A=A, B=B, C=C)
    for _ in range(3):
        found = kernel(A, B, C)
        assert found.ctypes.data % _LINE == 0
        np.testing.assert_allclose(found, B @ C)


def test_results_of_their_own_are_not_written_again() -> None:
    A, B = ms.tensor(_rows(20_000)), np.ones((20_000, 8))
    kernel = ms.compile(_SPMM, A=A, B=B)
    first, second = kernel(A, B), kernel(A, 2 * B)
    part = first[1:3]
    del first
    gc.collect()
    third = kernel(A, 3 * B)
    assert (part == 1).all()
    assert (second == 2).all()
    assert (third == 3).all()


def test_small_results_own_their_memory() -> None:
    A, B = ms.tensor(_rows(100)), np.ones((100, 8))
    assert ms.evaluate(_SPMM, A=A, B=B).flags.owndata


@pytest.mark.parametrize("shape", [(), (0,), (5, 0, 3), (7,), (300, 40), (1 << 18,)])
def test_arrays_of_any_shape(shape: tuple[int, ...]) -> None:
    found = _native.dense_array(shape, np.dtype(np.float64))
    assert (found.shape, found.dtype) == (shape, np.float64)
    found[...] = 1
    assert found.sum() == np.prod(shape)


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 40), (1 << 61,), (-1,)])
def test_what_no_memory_holds_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(MemoryError):
        _native.dense_array(shape, np.dtype(np.float64))
