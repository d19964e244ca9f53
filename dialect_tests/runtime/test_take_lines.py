"""Rows of arrays and lines of sparse matrices that are taken at places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16", "float32", "float64", "complex128", "bool"])
@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(9,), (9, 3), (9, 0), (9, 2, 2), (1,)])
def test_rows_are_those_of_numpy(dtype: str, width: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    source = rng.integers(0, 2, shape).astype(dtype)
    for count in (0, 1, 3, 4, 7, 1030):
        places = rng.integers(0, shape[0], count).astype(width)
        out = np.empty((count, *shape[1:]), dtype)
        assert _native.take_rows(source, places, out) == -1
        np.testing.assert_array_equal(out, source[places])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 5])
def test_the_first_place_out_of_range_is_found(columns: int, threads: int) -> None:
    source, places = np.zeros((7, columns)), np.zeros(200_000, np.int64)
    out = np.empty((places.size, columns))
    ms.set_num_threads(threads)
    try:
        for wrong in (7, -1, np.iinfo(np.int64).max, np.iinfo(np.int64).min):
            for number in (0, 3, 101, 150_000, places.size - 1):
                places[:] = 0
                places[[number, -1]] = wrong
                assert _native.take_rows(source, places, out) == number
    finally:
        ms.set_num_threads(None)
    assert _native.take_rows(source[:0], places, out) == 0
    assert _native.take_rows(source[:0], places[:0], out[:0]) == -1


def test_what_is_no_row_or_has_no_room_is_refused() -> None:
    source, places = np.zeros((4, 4)), np.zeros(2, np.int64)
    for wrong in (
        (source.T[1:], places, np.empty((2, 3))),
        (source, places[::-1], np.empty((2, 4))),
        (source, places.astype(np.uint64), np.empty((2, 4))),
        (source, places, np.empty((2, 5))),
        (np.zeros(()), places, np.empty(2)),
    ):
        with pytest.raises((ValueError, TypeError)):
            _native.take_rows(*wrong)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "DIA"])
@pytest.mark.parametrize("shape", [(20, 30), (1, 1), (0, 5), (5, 0)])
def test_lines_of_matrices_in_any_storage(storage: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0).astype(float)
    A, P, Q = ms.tensor(dense, storage), *(rng.integers(0, max(n, 1), 9 if n else 0) for n in shape)
    cases = {
        "C(i,j) = A(P(i), j)": dense[P],
        "C(i,j) = A(i, Q(j))": dense[:, Q],
        "C(i,j) = A(P(i), Q(j))": dense[np.ix_(P, Q)],
        "C(j,i) = A(P(i), Q(j))": dense[np.ix_(P, Q)].T,
    }
    for text, expected in cases.items():
        given = {name: value for name, value in {"A": A, "P": P, "Q": Q}.items() if f"{name}(" in text}
        for out in ("CSR", "CSC", "COO", "dense"):
            kernel = ms.compile(text, out=out, **given)
            found = kernel(**given)
            np.testing.assert_array_equal(found if out == "dense" else found.to_numpy(), expected)
            if out != "dense":
                assert found.encoding.map_text() == ms.encoding(out).map_text()
                np.testing.assert_array_equal(
                    kernel.compute(out=kernel.assemble(**given), **given).to_numpy(), expected
                )


def test_rows_that_exceed_narrow_positions_have_wide_ones() -> None:
    A = ms.tensor(np.ones((2, 200)), "CSR", pos_width=16, crd_width=8)
    P = np.arange(1000) % 2
    found = ms.evaluate("C(i,j) = A(P(i), j)", A=A, P=P, out="CSR")
    assert found.nse == 200_000
    np.testing.assert_array_equal(ms.evaluate("s = C(i,j)", C=found), 200_000)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR"])
@pytest.mark.parametrize(("text", "low", "right"), [("A(i,i)", 0, 0), ("A(i+2,i+1)", 2, 1), ("A(i+1,i+4)", 1, 4)])
def test_diagonals_are_taken_at_their_places(storage: str, text: str, low: int, right: int) -> None:
    draw = np.random.default_rng(low)
    dense = np.where(draw.random((30, 30)) < 0.5, draw.random((30, 30)), 0)
    expected = np.diagonal(dense, right - low)[min(low, right) :]
    found = ms.evaluate(f"y(i) = {text}", A=ms.tensor(dense, storage))
    array = found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)
    np.testing.assert_array_equal(array, expected)
