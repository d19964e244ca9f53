"""Rows of sparse products: kept in order where they go while they are short, in a workspace where they are long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import SPMV, said_by

PRODUCT = "C(i,j) = A(i,k) * B(k,j)"


@pytest.fixture(autouse=True, params=[1, 3], ids=["whole", "pieces"])
def threads(request: pytest.FixtureRequest, whatever_can_be_cut: None) -> None:
    ms.set_num_threads(request.param)


def rows_of(lengths: list[int], columns: int, seed: int, dtype: Any = np.float64) -> Any:
    """Returns a matrix with so many entries in each row."""
    rng = np.random.default_rng(seed)
    full = np.zeros((len(lengths), columns), dtype)
    for row, length in enumerate(lengths):
        full[row, rng.choice(columns, length, replace=False)] = rng.integers(1, 9, length)
    return full


def assert_product(found: ms.SparseTensor, expected: Any) -> None:
    """Asserts equal values, and coordinates in order, each once."""
    np.testing.assert_array_equal(found.to_numpy(), expected)
    stored = found.to_scipy()
    for row in range(stored.shape[0]):
        columns = stored.indices[stored.indptr[row] : stored.indptr[row + 1]]
        assert (np.diff(columns) > 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64, np.complex128])
def test_lengths_around_the_choice(dtype: Any) -> None:
    """Each row has as many products as its number says: few, as many as are few, one more, and many."""
    A = np.eye(60, dtype=dtype)
    B = rows_of(list(range(60)), 90, 0, dtype)
    assert_product(ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR"), A @ B)
    A = rows_of([n % 5 for n in range(80)], 60, 1, dtype)
    expected = (A.astype(np.int64) @ B.astype(np.int64)).astype(dtype) if dtype == np.int8 else A @ B
    assert_product(ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR"), expected)


@pytest.mark.parametrize("columns", [1, 2, 5, 20])
def test_products_that_meet(columns: int) -> None:
    """Rows of the result have fewer entries than products: those that meet are added where they stand."""
    A, B = rows_of([4] * 30, 25, 2), rows_of([min(columns, 1 + n % 6) for n in range(25)], columns, 3)
    assert_product(ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR"), A @ B)


UNORDERED = "(i, j) -> (i : dense, j : compressed(nonordered))"
NARROW = ms.encoding("CSR", pos_width=16, crd_width=8)


@pytest.mark.parametrize("out", ["CSR", "DCSR", "CSC", "COO", NARROW], ids=str)
@pytest.mark.parametrize("stored", ["CSR", "DCSR", UNORDERED, NARROW], ids=str)
def test_storages(stored: Any, out: Any) -> None:
    A, B = rows_of([n % 4 for n in range(40)], 30, 4), rows_of([n % 9 for n in range(30)], 50, 5)
    tensors = [ms.tensor(full, "CSR").convert(stored) for full in (A, B)]
    found = ms.evaluate(PRODUCT, A=tensors[0], B=tensors[1], out=out)
    np.testing.assert_array_equal(found.to_numpy(), A @ B)


def test_rows_that_are_in_no_order() -> None:
    """Entries of B come last one first; those of the product ascend."""
    B = scipy.sparse.csr_array(rows_of([6] * 10, 40, 8))
    turned = scipy.sparse.csr_array((B.data[::-1].copy(), B.indices[::-1].copy(), B.indptr), shape=B.shape)
    turned.has_sorted_indices = False
    A = rows_of([n % 4 for n in range(12)], 10, 9)
    found = ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(turned, UNORDERED), out="CSR")
    assert_product(found, A @ turned.toarray())


@pytest.mark.parametrize("name", ["min_plus", "max_times", "max_min", "plus_pair"])
def test_semirings(name: str) -> None:
    """What a sum starts from is no 0 of its own."""
    A, B = -rows_of([n % 4 for n in range(20)], 15, 6), rows_of([n % 7 for n in range(15)], 18, 7)
    found = ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR", semiring=name)
    add, multiply = (
        {"min": np.min, "max": np.max, "plus": np.sum}[name.split("_")[0]],
        {"plus": np.add, "times": np.multiply, "min": np.minimum, "pair": lambda a, b: 1.0}[name.split("_")[1]],
    )
    expected = np.zeros((20, 18))
    for i, j in np.ndindex(20, 18):
        met = [multiply(A[i, k], B[k, j]) for k in range(15) if A[i, k] and B[k, j]]
        expected[i, j] = add(met) if met else 0
    np.testing.assert_array_equal(found.to_scipy().toarray(), expected)


def test_masked_rows() -> None:
    A, B = rows_of([n % 4 for n in range(40)], 30, 4), rows_of([n % 9 for n in range(30)], 50, 5)
    mask = rows_of([n % 50 for n in range(40)], 50, 6)
    tensors = {name: ms.tensor(full, "CSR") for name, full in (("A", A), ("B", B), ("M", mask))}
    found = ms.evaluate("C(i,j) = M(i,j) * A(i,k) * B(k,j)", **tensors, out="CSR")
    np.testing.assert_array_equal(found.to_numpy(), mask * (A @ B))


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1)])
def test_all_extents(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    A, B = np.ones((rows, inner)), np.ones((inner, columns))
    found = ms.evaluate(PRODUCT, A=ms.tensor(A, "CSR"), B=ms.tensor(B, "CSR"), out="CSR")
    np.testing.assert_array_equal(found.to_numpy(), A @ B)


def test_room_between_rows_names_no_rows() -> None:
    """Entries ahead are asked for across the ends of rows, where a loose level may hold anything."""
    anything = np.iinfo(np.int32).max
    positions = np.array([0, 1, 10, 12, 30, 31], dtype=np.int32)  # begin and end of each row
    coordinates = np.full(40, anything, dtype=np.int32)
    coordinates[[0, 10, 11, 30]] = [2, 0, 1, 1]
    encoding = "(i, j) -> (i : dense, j : loose_compressed)"
    A = ms.SparseTensor.from_levels(encoding, (3, 3), [None, positions], [None, coordinates], np.ones(40))
    expected = np.array([[0.0, 0, 1], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(A.to_numpy(), expected)
    for B in (A, ms.tensor(expected, "CSR")):
        found = ms.evaluate(PRODUCT, A=A, B=B, out="CSR")
        np.testing.assert_array_equal(found.to_numpy(), expected @ expected)


@pytest.mark.parametrize("out", ["CSR", "dense"])
@pytest.mark.parametrize("stored", ["CSR", "DCSR", "COO"])
def test_it_says_which_rows_are_asked_for(stored: str, out: str) -> None:
    assert said_by("prefetch-rows", PRODUCT, out, A=stored, B="CSR") == ["applied to j"]


def test_it_says_nothing_where_no_entry_names_rows() -> None:
    assert said_by("prefetch-rows", SPMV, A="CSR", x="") == []
