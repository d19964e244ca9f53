"""Pieces that write to parts of a result where stored coordinates say: apart, meeting, or all over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

ROWS, COLUMNS = 83, 71
THREADS = (1, 2, 3, 8)


pytestmark = pytest.mark.usefixtures("whatever_can_be_cut")


def banded(width: int, seed: int = 0) -> Array:
    """Rows whose entries lie near a diagonal, whole numbers; some rows are empty."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((ROWS, COLUMNS))
    for row in range(ROWS):
        middle = row * COLUMNS // ROWS
        part = slice(max(0, middle - width), min(COLUMNS, middle + width + 1))
        dense[row, part] = rng.integers(1, 9, part.stop - part.start) * (row % 7 != 3)
    return dense


def all_over() -> Array:
    rng = np.random.default_rng(1)
    return np.where(rng.random((ROWS, COLUMNS)) < 0.2, rng.integers(1, 9, (ROWS, COLUMNS)), 0).astype(float)


def corner() -> Array:
    """The last rows write where the first ones do, those between nowhere."""
    dense = np.zeros((ROWS, COLUMNS))
    dense[:5, :9] = dense[-5:, :9] = 3
    return dense


MATRICES = {
    "diagonal": banded(0),
    "band": banded(3),
    "wide band": banded(20),
    "backwards": banded(2)[::-1].copy(),
    "all over": all_over(),
    "corner": corner(),
    "last column": np.pad(np.ones((ROWS, 1)), ((0, 0), (COLUMNS - 1, 0))),
    "empty": np.zeros((ROWS, COLUMNS)),
    "no columns": np.zeros((ROWS, 0)),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "c128"])
def test_scattered_sums(name: str, dtype: str) -> None:
    dense = MATRICES[name].astype(ms.DType(dtype).numpy)
    A, rng = ms.tensor(dense, "CSR"), np.random.default_rng(2)
    x, z = (rng.integers(1, 9, n).astype(dense.dtype) for n in dense.shape)
    added = ms.compile("y(j) = A(i,j) * x(i) + 2 * z(j)", A=A, x=x, z=z)
    alone = ms.compile("y(j) = A(i,j) * x(i)", A=A, x=x)
    for threads in THREADS:
        ms.set_num_threads(threads)
        for _ in range(2):  # what pieces write to is known the second time
            np.testing.assert_array_equal(added(A=A, x=x, z=z), dense.T @ x + 2 * z)
            out = np.full(dense.shape[1], 7, dense.dtype)
            np.testing.assert_array_equal(alone(A=A, x=x, out=out), dense.T @ x)


@pytest.mark.parametrize("name", MATRICES)
def test_rows_of_results(name: str) -> None:
    dense = MATRICES[name]
    A, X = ms.tensor(dense, "CSR"), np.arange(ROWS * 5.0).reshape(ROWS, 5)
    kernel = ms.compile("Y(j,k) = A(i,j) * X(i,k)", A=A, X=X)
    for threads in THREADS:
        ms.set_num_threads(threads)
        np.testing.assert_array_equal(kernel(A=A, X=X), dense.T @ X)


@pytest.mark.parametrize("widths", [(64, 64), (32, 16), (16, 8)])
def test_all_widths(widths: tuple[int, int]) -> None:
    dense, x = MATRICES["band"], np.arange(float(ROWS))
    A = ms.tensor(dense, ms.encoding("CSR").with_widths(*widths))
    for threads in THREADS:
        np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=x, threads=threads), dense.T @ x)


@pytest.mark.parametrize("name", ["band", "wide band", "all over"])
def test_greatest_and_deterministic(name: str) -> None:
    dense, rng = MATRICES[name], np.random.default_rng(4)
    A = ms.tensor(dense, "CSR")
    expected = np.where(dense > 0, dense, -np.inf).max(0)
    for threads in THREADS:
        ms.set_num_threads(threads)
        found = ms.evaluate("y(j) max=! A(i,j)", A=A)
        np.testing.assert_array_equal(found[np.isfinite(expected)], expected[np.isfinite(expected)])
    x = rng.random(ROWS)
    text = "y(j) = A(i,j) * x(i)"
    results = [ms.evaluate(text, A=A, x=x, threads=t, deterministic=True) for t in THREADS]
    np.testing.assert_allclose(results[0], dense.T @ x)
    assert all(np.array_equal(results[0], other) for other in results)


def test_other_factors_that_are_sparse() -> None:
    dense, mask = MATRICES["band"], MATRICES["all over"]
    A, B, x = ms.tensor(dense, "CSR"), ms.tensor(mask, "CSR"), np.arange(float(ROWS))
    for threads in THREADS:
        ms.set_num_threads(threads)
        np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * B(i,j) * x(i)", A=A, B=B, x=x), (dense * mask).T @ x)
        np.testing.assert_array_equal(
            ms.evaluate("y(j) = (A(i,j) + B(i,j)) * x(i)", A=A, B=B, x=x), (dense + mask).T @ x
        )


def test_values_may_change_between_calls() -> None:
    dense, x = MATRICES["band"].copy(), np.arange(float(ROWS))
    A = ms.tensor(dense, "CSR")
    kernel = ms.compile("y(j) = A(i,j) * x(i)", A=A, x=x)
    ms.set_num_threads(3)
    np.testing.assert_array_equal(kernel(A=A, x=x), dense.T @ x)
    A.storage.values[:] *= 2
    np.testing.assert_array_equal(kernel(A=A, x=x), 2 * dense.T @ x)
