"""Workspaces of rows that are used again: results do not depend on the calls before."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from mlir_sparse.runtime import clean_workspaces

COLUMNS = 60_000


@pytest.fixture(autouse=True)
def _none_kept() -> Iterator[None]:
    clean_workspaces._kept.workspaces.clear()
    yield
    clean_workspaces._kept.workspaces.clear()


def _matrix(rows: int, columns: int, entries: int, seed: int) -> sp.csr_array:
    random = np.random.default_rng(seed)
    places = random.integers(0, rows, entries), random.integers(0, columns, entries)
    return sp.csr_array((random.integers(1, 9, entries).astype(float), places), shape=(rows, columns))


def _kept() -> list[np.ndarray]:
    return [array for workspace in clean_workspaces._kept.workspaces.values() for array in workspace]


@pytest.mark.parametrize("out", ["CSR", "DCSR"])
def test_products_after_one_another(out: str) -> None:
    B = _matrix(40, COLUMNS, 9000, 0)
    plus = ms.compile("C(i,k) = A(i,j) * B(j,k)", A="f64[?,?] CSR", B="f64[?,?] CSR", out=out)
    least = ms.compile("C(i,k) = A(i,j) * B(j,k)", A="f64[?,?] CSR", B="f64[?,?] CSR", out=out, semiring="min_plus")
    for seed in range(4):
        A = _matrix(30, 40, 200, seed)
        product = plus(ms.tensor(A), ms.tensor(B))
        np.testing.assert_array_equal(product.to_scipy().toarray(), (A @ B).toarray())
        found = least(ms.tensor(A), ms.tensor(B)).to_numpy(np.inf)
        rows, dense = A.toarray(), B.toarray()
        for row in (0, 17, 29):
            named = np.flatnonzero(rows[row])
            sums = np.where(dense[named] != 0, dense[named] + rows[row, named, None], np.inf)
            np.testing.assert_array_equal(found[row], sums.min(axis=0, initial=np.inf))
        assert _kept()
        assert not any(array.any() for array in _kept())


def test_a_workspace_belongs_to_one_call_at_a_time_and_to_one_thread() -> None:
    taken = clean_workspaces.take_workspace([COLUMNS], [np.dtype(np.float64)])
    clean_workspaces.give_back(taken)
    again = clean_workspaces.take_workspace([COLUMNS], [np.dtype(np.float64)])
    assert again[0] is taken[0]
    other = clean_workspaces.take_workspace([COLUMNS], [np.dtype(np.float64)])
    assert other[0] is not taken[0]
    clean_workspaces.give_back(again)
    seen = []
    thread = threading.Thread(
        target=lambda: seen.append(clean_workspaces.take_workspace([COLUMNS], [np.dtype(np.float64)])[0])
    )
    thread.start()
    thread.join()
    assert seen[0] is not taken[0]


def test_few_are_kept_and_none_that_are_large() -> None:
    for length in (8, 20_000, 30_000, 40_000, 1 << 22):
        clean_workspaces.give_back([np.zeros(length)])
    assert [len(array) for array in _kept()] == [30_000, 40_000]
