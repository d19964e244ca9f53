"""Dense arrays of listed entries, positions of extremes and places of nonzeros, in any storage, width and type."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

Array = np.ndarray[Any, Any]

_STORAGES = ["CSR", "CSC", "COO", "DCSR", "CSR(unordered)", "BSR(2, 2)", "dense"]
_DTYPES = ["f64", "f32", "f16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]


def _odd(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Returns an array with few distinct numbers: with equal ones, and of floats NaN and -0.0 too."""
    kind = ms.DType.of(dtype).numpy
    numbers = (
        [0, 0, 0, 1, 2, 2] + ([-1, -2] if kind.kind in "if" else []) + ([np.nan, -0.0] if kind.kind == "f" else [])
    )
    return np.asarray(random.choice(np.array(numbers), shape)).astype(kind)


def _of(array: Array, storage: str, width: int) -> Any:
    if storage == "dense":
        return ms.tensor(array, "dense")
    return ms.tensor(array, storage, pos_width=width, crd_width=width)


def _same(found: Any, expected: Array) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", _DTYPES)
def test_positions_of_extremes_are_numpys(dtype: str) -> None:
    random = np.random.default_rng(7)
    for storage, width, shape in product(_STORAGES, (8, 16, 32, 64), [(1, 1), (1, 9), (9, 1), (6, 8), (40, 3)]):
        array = _odd(random, shape, dtype)
        A = _of(array, storage, width)
        for axis in (0, 1, -1):
            _same(A.argmax(axis=axis), array.argmax(axis=axis))
            _same(A.argmin(axis=axis), array.argmin(axis=axis))
        assert (A.argmax(), A.argmin()) == (array.argmax(), array.argmin()), (storage, width)


@pytest.mark.parametrize("dtype", [*_DTYPES, "c64", "c128"])
def test_dense_arrays_have_the_bits_of_the_entries(dtype: str) -> None:
    random = np.random.default_rng(8)
    for storage, width, shape in product(_STORAGES, (8, 16, 32, 64), [(0, 4), (4, 0), (1, 1), (6, 8), (40, 3)]):
        array = _odd(random, shape, dtype)
        A = _of(array, storage, width)
        found = A.to_numpy()
        assert found.flags.c_contiguous
        assert found.flags.writeable
        _same(found, array)
        assert np.array_equal(np.isnan(found), np.isnan(array)) if array.dtype.kind == "f" else True
        for one, other in zip(A.nonzero(), array.nonzero(), strict=True):
            _same(one, other)


def test_stored_zeros_keep_their_sign_in_dense_arrays() -> None:
    for storage in ("CSR", "CSC", "COO"):
        A = ms.tensor(((np.array([0, 1]), np.array([1, 0])), np.array([-0.0, 3.0])), storage, shape=(2, 2))
        assert np.signbit(A.to_numpy()).tolist() == [[False, True], [False, False]]
        assert [one.tolist() for one in A.nonzero()] == [[1], [0]]
        assert A.argmin() == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_lists_of_three_coordinates_become_arrays(order: tuple[int, ...]) -> None:
    array = _odd(np.random.default_rng(9), (3, 4, 5), "f64")
    A = ms.tensor(array, "COO").transpose(order)
    _same(A.to_numpy(), array.transpose(order))
    for one, other in zip(A.nonzero(), array.transpose(order).nonzero(), strict=True):
        _same(one, other)
    assert (A.argmax(), A.argmin()) == (array.transpose(order).argmax(), array.transpose(order).argmin())


def test_large_matrices_give_the_same_with_every_number_of_threads() -> None:
    random = np.random.default_rng(10)
    rows, columns = 3000, 700
    dense = np.where(random.random((rows, columns)) < 0.15, random.integers(-3, 4, (rows, columns)), 0).astype(float)
    dense[random.integers(0, rows, 50), random.integers(0, columns, 50)] = np.nan
    dense[:, 5], dense[7] = 1.0, -1.0  # without a gap
    before = ms.get_num_threads()
    try:
        for threads, storage in product((1, 2), ("CSR", "CSC", "COO")):
            ms.set_num_threads(threads)
            A = ms.tensor(dense, storage)
            _same(A.to_numpy(), dense)
            for axis in (0, 1):
                _same(A.argmax(axis=axis), dense.argmax(axis=axis))
                _same(A.argmin(axis=axis), dense.argmin(axis=axis))
    finally:
        ms.set_num_threads(before)


def test_slices_and_batches_become_arrays() -> None:
    array = _odd(np.random.default_rng(11), (6, 8), "f64")
    _same(ms.tensor(array, "CSR").slice(slice(1, 5), slice(0, 8, 2)).to_numpy(), array[1:5, 0:8:2])
    batches = _odd(np.random.default_rng(12), (2, 4, 5), "f64")
    _same(ms.tensor(batches, "BatchedCSR").to_numpy(), batches)


def test_coordinates_beyond_the_array_are_refused() -> None:
    begins, values = np.array([0, 2]), np.array([1.0, 2.0])
    for coordinates in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError, match="below the extents"):
            _native.write_dense(begins, np.array(coordinates), values, np.zeros((1, 3)), 3, (3,), (1,))
    with pytest.raises(ValueError, match="an element for each place"):
        _native.write_dense(begins, np.array([0, 1]), values, np.zeros((1, 2)), 3, (3,), (1,))
    with pytest.raises(ValueError, match="ascend from 0"):
        _native.write_dense(np.array([0, 3]), np.array([0, 1]), values, np.zeros((1, 3)), 3, (3,), (1,))
    with pytest.raises(ValueError, match="ascend from 0"):
        _native.best_places(np.array([0, 2, 1]), np.array([0, 1]), values, 3, False, True)
    with pytest.raises(ValueError, match="a range of the rows"):
        _native.diagonal_entries(begins, np.array([0, 1]), values, 0, 0, 2, np.dtype(np.int64))
