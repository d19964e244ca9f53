"""Diagonals and traces of matrices in all storages, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

STORAGES = ("CSR", "CSC", "COO", "DCSR", "DCSC", "BSR(2, 2)", "CSR(unordered)")
SHAPES = ((0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (4, 4), (6, 9), (9, 6), (300, 200))


def _matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: Any) -> np.ndarray[Any, Any]:
    given = rng.integers(-3 if np.dtype(dtype).kind in "ifc" else 0, 4, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        given = given + rng.integers(0, 2, shape) * 1j
    array: np.ndarray[Any, Any] = np.where(rng.random(shape) < 0.5, given, 0).astype(dtype)
    return array


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("storage", STORAGES)
def test_diagonals_are_those_of_numpy(storage: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    for shape in SHAPES:
        array = _matrix(rng, shape, dtype)
        blocked = storage.startswith("BSR")
        if blocked and any(size % 2 for size in shape):
            continue
        matrix = ms.tensor(array, storage)
        rows, columns = shape
        for k in {0, 1, -1, 2, columns - 1, columns, 1 - rows, -rows, 2**70, -(2**70)}:
            near = max(-rows, min(k, columns))
            found = matrix.diagonal(k)
            np.testing.assert_array_equal(found.to_numpy(), np.diagonal(array, near))
            np.testing.assert_array_equal(
                matrix.diagonal(k, 1, 0).to_numpy(), np.diagonal(array, -max(-columns, min(k, rows)))
            )
            assert found.dtype == array.dtype
            total = matrix.trace(k)
            assert np.asarray(total).dtype == np.trace(array, near).dtype
            np.testing.assert_array_equal(total, np.trace(array, near))


@pytest.mark.parametrize("width", [0, 8, 16, 32, 64])
@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO"])
def test_stored_zeros_stay_on_diagonals_of_all_widths(storage: str, width: int) -> None:
    kind = ms.encoding(storage).with_widths(width, width)
    places = (np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 3, 3]))
    matrix = ms.tensor((places, np.array([0.0, 5.0, -0.0, 7.0, 2.0])), kind, shape=(4, 200))
    found = matrix.diagonal()
    assert found.encoding.level_types == ms.encoding("SparseVector").level_types
    assert found.nse == 3
    assert found.to_numpy().tolist() == [0.0, 0.0, 0.0, 2.0]
    assert np.signbit(found.to_numpy()).tolist() == [False, True, False, False]
    assert matrix.diagonal(1).to_numpy().tolist() == [5.0, 0.0, 7.0, 0.0]


def test_diagonals_of_long_matrices_and_of_many_rows() -> None:
    far = 2**40
    wide = ms.tensor((([0, 2, 2], [far, 5, far + 2]), [3.0, 4.0, 6.0]), "CSR", shape=(3, far + 3))
    assert wide.diagonal(far).to_numpy().tolist() == [3.0, 0.0, 6.0]
    assert wide.T.diagonal(-far).to_numpy().tolist() == [3.0, 0.0, 6.0]
    assert wide.diagonal(3).to_numpy().tolist() == [0.0, 0.0, 4.0]
    count = 400_000  # rows that threads share
    at = np.arange(0, count, 3)
    for storage in ("CSR", "CSC", "COO"):
        many = ms.tensor(((at, at + 1), at + 1.0), storage, shape=(count, count + 1))
        found = many.diagonal(1).to_numpy()
        np.testing.assert_array_equal(np.flatnonzero(found), at)
        np.testing.assert_array_equal(found[at], at + 1.0)
        assert many.diagonal().nse == 0
        assert many.trace(1) == (at + 1.0).sum()


REARRANGED: dict[str, Any] = {
    "rows reversed": lambda A: A[::-1],
    "columns reversed": lambda A: np.flip(A, 1),
    "every other row": lambda A: A[::2],
    "rows in any order": lambda A: A[np.argsort(np.arange(len(A)) % 7, kind="stable")],
    "rows repeated": lambda A: np.repeat(A, 2, axis=0),
    "rows sorted": lambda A: np.sort(A, axis=1),
    "turned": np.rot90,
    "one column": lambda A: A.reshape(-1, 1),
    "one row": lambda A: A.reshape(1, -1),
}
STAYING: dict[str, Any] = {
    "rows moved": lambda A: np.roll(A, 3, axis=0),
    "stacked": lambda A: np.vstack([A, A]),
    "a triangle": np.tril,
    "some rows": lambda A: A[10:200],
    "transposed": lambda A: A.T,
}


def _banded(size: int) -> tuple[np.ndarray[Any, Any], ms.SparseTensor]:
    dense = np.diag(np.arange(1.0, size + 1)) + np.diag(np.arange(1.0, size), 1)
    return dense, ms.tensor(dense, "DIA")


@pytest.mark.parametrize("name", REARRANGED)
def test_diagonals_are_left_where_entries_are_on_many(name: str) -> None:
    """Storage by diagonals has a place in each row for each of them: thousands of times the entries."""
    dense, A = _banded(300)
    found = REARRANGED[name](A)
    np.testing.assert_array_equal(found.to_numpy(), REARRANGED[name](dense))
    # Of two levels with 4 bytes a coordinate, 8 a value, 4 a row: no more than a list of rows takes.
    assert found.nbytes <= 12 * found.nse + 4 * (max(found.shape) + 1)


@pytest.mark.parametrize("name", STAYING)
def test_diagonals_stay_where_entries_are_on_few(name: str) -> None:
    dense, A = _banded(300)
    found = STAYING[name](A)
    np.testing.assert_array_equal(found.to_numpy(), STAYING[name](dense))
    assert found.encoding.level_types == A.encoding.level_types
