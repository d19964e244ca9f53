"""Sums for several entries at once: rows of all lengths, lines of all lengths, in pieces or not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.strategy_remarks import NARROW, SPMV, said_by

SAMPLED = "C(i,j) = S(i,j) * X(i,k) * Y(j,k)"


def rows_of(lengths: list[int], columns: int, dtype: Any) -> Any:
    dense = np.zeros((len(lengths), columns), dtype)
    for row, length in enumerate(lengths):
        dense[row, :length] = np.arange(1, length + 1)
    return ms.tensor(dense, "CSR"), dense


@crossed(inner=[1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100], dtype=[np.float32, np.float64], threads=[1, 2])
def test_rows_and_lines_of_all_lengths(inner: int, dtype: Any, threads: int) -> None:
    S, dense = rows_of([*range(11), 0, 4, 3], 12, dtype)
    rng = np.random.default_rng(inner)
    X, Y = (rng.integers(-3, 4, (extent, inner)).astype(dtype) for extent in dense.shape)
    found = ms.evaluate(SAMPLED, S=S, X=X, Y=Y, out="CSR", threads=threads)
    np.testing.assert_array_equal(found.to_numpy(), dense * (X @ Y.T))


@pytest.mark.parametrize("storage", ["CSC", "DCSR", "COO"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SAMPLED, lambda S, X, Y: S * (X @ Y.T)),
        ("C(i,j) = X(i,k) * Y(j,k) * S(i,j) / 2", lambda S, X, Y: S * (X @ Y.T) / 2),
        ("C(i,j) = -S(i,j) * (X(i,k) - Y(j,k))", lambda S, X, Y: -S * (X[:, None] - Y).sum(2)),
        ("C(i,j) = S(i,j) * S(i,j) * X(i,k) * Y(j,k)", lambda S, X, Y: S * S * (X @ Y.T)),
    ],
)
@pytest.mark.parametrize("inner", [8, 20])
def test_other_storage_and_sums(inner: int, text: str, expected: Any, storage: str) -> None:
    S, dense = rows_of([5, 0, 9, 1, 12, 3, 7], 12, np.float64)
    rng = np.random.default_rng(1)
    X, Y = (rng.integers(-3, 4, (extent, inner)).astype(float) for extent in dense.shape)
    found = ms.evaluate(text, S=S.convert(storage), X=X, Y=Y, out=storage)
    np.testing.assert_array_equal(found.to_numpy(), expected(dense, X, Y))


@pytest.mark.parametrize("stored", ["SparseVector", "COO", "(i) -> (i : dense)", "(i) -> (i : loose_compressed)"])
@crossed(inner=[1, 8, 20], dtype=[np.float64, np.int32], threads=[1, 2])
def test_entries_of_vectors(stored: str, inner: int, dtype: Any, threads: int) -> None:
    """No loop stands around the one over entries."""
    C, A = np.arange(11) % 3 * 2, np.arange(11 * inner).reshape(11, inner) % 5
    for out in ("SparseVector", "dense"):
        found = ms.evaluate(
            "y(i) = C(i) * A(i,k)", C=ms.tensor(C.astype(dtype), stored), A=A.astype(dtype), out=out, threads=threads
        )
        np.testing.assert_array_equal(np.asarray(found), C * A.sum(1))


@crossed(inner=[8, 16, 32, 64], dtype=[np.float16, np.int8, np.int32, np.int64, np.complex64], threads=[1, 2])
def test_lines_of_one_vector_of_other_types(inner: int, dtype: Any, threads: int) -> None:
    S, dense = rows_of([*range(11), 0, 4, 3], 12, dtype)
    rng = np.random.default_rng(inner)
    X, Y = (rng.integers(0, 2, (extent, inner)).astype(dtype) for extent in dense.shape)
    found = ms.evaluate(SAMPLED, S=S, X=X, Y=Y, out="CSR", threads=threads)
    wide = np.complex128 if dtype is np.complex64 else np.int64
    expected = (dense.astype(wide) * (X.astype(wide) @ Y.T.astype(wide))).astype(dtype)
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("columns", [100, 20_000])  # of Y, which caches hold, and which not
def test_rows_near_and_far(columns: int) -> None:
    rng = np.random.default_rng(columns)
    lengths = rng.integers(0, 10, 50)
    crd = np.concatenate([np.sort(rng.choice(columns, length, replace=False)) for length in lengths])
    positions = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = rng.integers(1, 9, crd.size).astype(float)
    S = ms.SparseTensor.from_levels("CSR", (50, columns), [None, positions], [None, crd.astype(np.int32)], values)
    X, Y = (rng.integers(-3, 4, (extent, 8)).astype(float) for extent in (50, columns))
    found = ms.evaluate(SAMPLED, S=S, X=X, Y=Y, out="CSR")
    row = np.repeat(np.arange(50), lengths)
    np.testing.assert_array_equal(found.storage.values, values * (X[row] * Y[crd]).sum(1))


def test_static_lines_of_one_vector() -> None:
    S, dense = rows_of([6, 7, 0, 1], 8, np.float64)
    rng = np.random.default_rng(3)
    X, Y = rng.integers(-3, 4, (4, 8)).astype(float), rng.integers(-3, 4, (8, 8)).astype(float)
    kernel = ms.compile(SAMPLED, S="f64[?,?] CSR", X="f64[?,8]", Y="f64[?,8]", out="CSR")
    np.testing.assert_array_equal(kernel(S, X, Y).to_numpy(), dense * (X @ Y.T))


@pytest.mark.parametrize("inner", [8, 11])
def test_what_is_not_finite_stays_at_its_entry(inner: int) -> None:
    S, dense = rows_of([6, 7], 8, np.float64)
    X, Y = np.ones((2, inner)), np.ones((8, inner))
    Y[3, inner - 1], Y[5, 2] = np.nan, np.inf
    found = ms.evaluate(SAMPLED, S=S, X=X, Y=Y, out="CSR").to_numpy()
    expected = np.where(dense != 0, dense * (X @ Y.T), 0)
    np.testing.assert_array_equal(found, expected)


def test_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(7)
    dense = np.where(rng.random((300, 200)) < 0.2, rng.random((300, 200)), 0)
    S, X, Y = ms.tensor(dense, "CSR"), rng.random((300, 37)), rng.random((200, 37))
    kernel = ms.compile(SAMPLED, S=S, X=X, Y=Y, out="CSR", deterministic=True)
    found = [kernel.within(threads, True)(S, X, Y).storage.values for threads in (1, 2, 3)]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("strategy", ["several-entries", "inner-sums"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_it_says_that_several_entries_are_summed_at_once(strategy: str, dtype: str) -> None:
    assert said_by(strategy, SAMPLED, "CSR", dtype, S="CSR", X="", Y="") == ["applied to k"]


@pytest.mark.parametrize(("out", "shuffles"), [("CSR", 18), ("dense", 0)])
def test_sums_of_several_entries_are_folded_together(out: str, shuffles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    options = (("bits", 256), ("masks", True), ("fma", True))
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: options)
    text = ms.compile(SAMPLED, S="f64[?,?] CSR", X="f64[?,?]", Y="f64[?,?]", out=out).ir("sparsified")
    # Six for lines of one vector near and far, and for others.
    assert text.count("vector.shuffle") == shuffles
    assert "vector.fma" in text


def test_it_says_why_each_entry_is_summed_by_itself() -> None:
    plain = (("bits", 128), ("masks", False), ("fma", False))
    for options, dtype in ((plain, "f64"), (NARROW, "bf16")):
        said = said_by("several-entries", SAMPLED, "CSR", dtype, options, S="CSR", X="", Y="")
        assert said == ["k: the vectors of this machine have no masks, or not 4 lanes"]
    said = said_by("several-entries", SAMPLED, "dense", S="CSR", X="", Y="")
    assert said == ["k: sums are not stored side by side: the result is not one element at each entry"]


def test_it_says_that_several_entries_are_summed_at_once_on_avx2() -> None:
    for dtype in ("f32", "f64"):
        assert said_by("several-entries", SAMPLED, "CSR", dtype, NARROW, S="CSR", X="", Y="") == ["applied to k"]


def test_it_says_which_dense_rows_are_summed_by_vectors() -> None:
    assert said_by("inner-sums", SPMV, A="BSR(16, 16)", x="") == ["applied to loop 4 of 4"]
    few = "loop 4 of 4: its rows have fewer elements than a vector, 8"
    assert said_by("inner-sums", SPMV, A="BSR(2, 2)", x="") == [few]
    assert said_by("inner-sums", SPMV, A="CSR", x="") == []
