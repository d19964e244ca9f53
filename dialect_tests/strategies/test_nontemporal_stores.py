"""The pass that writes large results past the caches: what it computes, and which nests are written twice."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, SPMM, SPMV, said_by

SUM, DIFFERENCE = "C(i,j) = A(i,j) + B(i,j)", "D(i,j) = A(i,j) - B(i,j) + C(i,j)"
ROWS, COLUMNS = 4_000, 900


def matrix(seed: int, dtype: Any = np.float64) -> Any:
    """Returns a matrix with some 400 thousand entries, rows of all lengths from none on among them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 220, ROWS)
    columns = np.concatenate([rng.choice(COLUMNS, length, replace=False) for length in lengths])
    values = rng.integers(1, 9, columns.size).astype(dtype)
    made = scipy.sparse.csr_array((values, columns, np.r_[0, np.cumsum(lengths)]), shape=(ROWS, COLUMNS))
    made.sort_indices()
    return made


def same(found: Any, expected: Any) -> None:
    result = found.to_scipy().tocsr()
    assert result.nnz == expected.nnz > 1 << 19
    assert abs(result - expected).nnz == 0


@pytest.mark.usefixtures("one_thread_and_two")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.complex128])
def test_large_sums(dtype: Any) -> None:
    A, B = matrix(1, dtype), matrix(2, dtype)
    same(ms.evaluate(SUM, A=ms.tensor(A), B=ms.tensor(B), out="CSR"), A + B)


@pytest.mark.usefixtures("one_thread_and_two")
@pytest.mark.parametrize("stored", ["CSC", "DCSR", "COO"])
def test_large_sums_in_other_storage(stored: str) -> None:
    A, B = matrix(1), matrix(2)
    operands = {"A": ms.tensor(A).convert(stored), "B": ms.tensor(B).convert(stored)}
    same(ms.evaluate(SUM, **operands, out=stored), A + B)


@pytest.mark.usefixtures("whatever_can_be_cut", "one_thread_and_two")
def test_a_large_sum_of_three_is_what_later_calls_add_to() -> None:
    A, B, C = matrix(1), matrix(2), matrix(3)
    operands = {"A": ms.tensor(A), "B": ms.tensor(2 * B), "C": ms.tensor(B + C)}
    found = ms.evaluate(DIFFERENCE, **operands, out="CSR")
    expected = ms.evaluate(SUM, A=ms.tensor(A), B=ms.tensor(C - B), out="CSR").to_scipy()
    assert abs(found.to_scipy() - expected).max() == 0


def written(text: str, stored: str, dtype: str = "f64", **ranks: int) -> int:
    """Returns how many stores past the caches a kernel has."""
    types = {name: f"{dtype}[{','.join('?' * rank)}] {stored}" for name, rank in ranks.items()}
    kernel = ms.compile(text, **types, out=stored)
    return next(step.text for step in kernel.passes() if step.name == "nontemporal-stores").count("nontemporal")


@pytest.mark.parametrize("single_floats", [False, True])
@pytest.mark.parametrize("text", [SUM, "C(i,j) = A(i,j) - B(i,j)", "C(i,j) = A(i,j) - 2 * abs(B(i,j))"])
def test_every_entry_of_a_merge_is_stored_either_way(
    text: str, single_floats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store past the caches between others of its line throws the line out: differences took 12 times as long."""
    monkeypatch.setattr(
        import_module("mlir_sparse.pipeline.cpu_passes"), "store_options", lambda: (("floats", single_floats),)
    )
    # Where both have an entry, where either has, and where either has what the other has not: coordinates, and values
    # where the machine stores single floats so.
    assert written(text, "CSR", A=2, B=2) == (10 if single_floats else 5)


def test_values_that_are_integers_are_stored_as_coordinates_are() -> None:
    assert written(SUM, "CSR", "i64", A=2, B=2) == 10


@pytest.mark.parametrize(
    ("text", "stored", "ranks"),
    [
        pytest.param(SUM, "DCSR", {"A": 2, "B": 2}, id="several lists of coordinates"),
        pytest.param("C(i,j) = 2 * A(i,j)", "CSR", {"A": 2}, id="nothing is merged"),
        pytest.param("C(i,k) = A(i,j) * B(j,k)", "CSR", {"A": 2, "B": 2}, id="rows are put in order first"),
    ],
)
def test_what_is_written_through_the_caches(text: str, stored: str, ranks: dict[str, int]) -> None:
    assert written(text, stored, **ranks) == 0


def test_it_says_which_results_are_written_past_the_caches() -> None:
    assert said_by("nontemporal-stores", ADD, "CSR", A="CSR", B="CSR") == ["applied to i"]


def test_it_says_why_others_are_not() -> None:
    lists = "j: the result has several lists of coordinates, or several nests write it"
    assert said_by("nontemporal-stores", ADD, "DCSR", A="DCSR", B="DCSR") == [lists]
    long = "i: more than 160 operations: writing is not what takes the time"
    assert said_by("nontemporal-stores", SPMM, "CSR", A="CSR", B="CSR") == [long]


def test_it_says_nothing_of_dense_results() -> None:
    assert said_by("nontemporal-stores", SPMV, A="CSR", x="") == []
