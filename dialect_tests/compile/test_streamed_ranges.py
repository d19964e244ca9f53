"""Statements with ranges in streams: of sources no more is read than lies in the ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

ROWS, COLUMNS = 3000, 50
_RANDOM = np.random.default_rng(5)
D = np.where(_RANDOM.random((ROWS, COLUMNS)) < 0.1, _RANDOM.random((ROWS, COLUMNS)), 0)
T = ms.tensor(D, "CSR")
x = _RANDOM.random(COLUMNS)
MEMORY = "32KiB"

TEXTS = [
    "y(i) = A(i,j) * x(j) where i in 0:100",
    "y(i) = A(i,j) * x(j) where i in 0:0",
    "y(i) = A(i,j) * x(j) where j in 3:20",
    "y(i) = A(i + 6,j) * x(j) where i in 0:400",
    "y(i) = A(i,j) * x(j) + A(i + 2,j) * x(j) where i in 0:400",
    "y(j) = A(i,j) where i in 6:1040",
    "y(j) = max(i : A(i,j)) where i in 10:50",
    "s = A(i,j) * x(j) where i in 18:20, j in 3:9",
    "C(i,j) = 2 * A(i,j) where i in 0:500, j in 0:8",
    "y(i) = A(i,j) * i where j in 1:20",
    "y(j) = A(i,j) * i where i in 2:20",
]


def _given(text: str) -> dict[str, Any]:
    return {"x": x} if "x(j)" in text else {}


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "COO", "BSR(2, 2)"])
@pytest.mark.parametrize("text", TEXTS)
def test_streams_over_ranges_are_those_of_the_whole(text: str, storage: str) -> None:
    wanted = as_array(ms.evaluate(text, A=T, **_given(text)))
    found = ms.stream(text, A=ms.source(T.convert(storage)), memory=MEMORY, **_given(text))
    np.testing.assert_allclose(as_array(found), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j) where i in 0:100", "y(i) = A(i,j) * x(j) where j in 3:20"])
def test_under_a_semiring(text: str) -> None:
    wanted = ms.evaluate(text, A=T, x=x, semiring="min_plus")
    np.testing.assert_array_equal(ms.stream(text, A=ms.source(T), x=x, memory=MEMORY, semiring="min_plus"), wanted)


def test_no_more_is_read_than_lies_in_the_range() -> None:
    read: list[tuple[int, int]] = []

    def rows(low: int, high: int) -> Any:
        read.append((low, high))
        return T[low:high]

    A = ms.source(rows, shape=(ROWS, COLUMNS), type="f64[?,?] CSR", nbytes=T.nbytes)
    out = np.zeros(200)
    found = ms.stream("y(i) = A(i + 700,j) * x(j) where i in 0:200", A=A, x=x, memory=MEMORY, out=out)
    assert found is out
    np.testing.assert_allclose(out, D[700:900] @ x)
    assert (min(low for low, _ in read), max(high for _, high in read)) == (700, 900)
    assert sum(high - low for low, high in read) == 200


def test_updates_and_comprehensions_over_ranges() -> None:
    A, present = ms.source(T), np.ones(100)
    found = ms.stream("y(i) += A(i,j) * x(j) where i in 0:100", A=A, x=x, y=present, memory=MEMORY)
    np.testing.assert_allclose(found, 1 + D[:100] @ x)
    text = (
        "def f(double(M,N) A, double(N) x) -> (y, w) {\n"
        " y(i) +=! A(i,j) * x(j) where i in 0:100\n w(j) +=! A(i,j) * y(i) where i in 0:100\n}"
    )
    y, w = ms.stream(text, A=A, x=x, memory=MEMORY)
    np.testing.assert_allclose(y, D[:100] @ x)
    np.testing.assert_allclose(w, D[:100].T @ (D[:100] @ x))


def test_what_cannot_be_read_so_says_why() -> None:
    with pytest.raises(ms.ExtentError, match="to fit in axis 0 of A, which has 3000 elements"):
        ms.stream("y(i) = A(i,j) * x(j) where i in 0:4000", A=ms.source(T), x=x, memory=MEMORY)
    with pytest.raises(ms.UnsupportedError, match="whole blocks of 2 along dimension 0"):
        ms.stream("y(j) = A(i,j) where i in 5:41", A=ms.source(T.convert("BSR(2, 2)")), memory=MEMORY)
    with pytest.raises(ms.OperandError, match=r"leave the statement to ms\.stream"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.source(T), x=x)


def test_memory_is_any_whole_number_and_parts_any_sparse_arrays() -> None:
    sp = pytest.importorskip("scipy.sparse")
    parts = [sp.csr_array(D[:1000]), sp.csr_array(D[1000:])]
    for memory in (1e5, np.int64(100_000), "0.1 MB", "1e5", "1."):
        given = {"A": ms.source(parts), "x": x, "memory": memory}
        if memory == "1.":
            with pytest.raises(ms.TooLargeError):
                ms.stream("y(i) = A(i,j) * x(j)", **given)
        else:
            np.testing.assert_allclose(ms.stream("y(i) = A(i,j) * x(j)", **given), D @ x)
    for wrong in (1.5, np.nan, np.inf, -1, True, "1..5MB", ".", "1e", "1e-3", None):
        with pytest.raises(ms.OperandError, match="expected memory as a number of bytes"):
            ms.stream("y(i) = A(i,j) * x(j)", A=ms.source(parts), x=x, memory=wrong)
