"""The pass that reads slots by their coordinates: what it computes, and where lists stay lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import SPMM, SPMV, said_by

SLOTS = ["SlotELL", "[c](i, j) -> (c * j : dense, j : dense, i : singleton)", "HashedRows"]
BY_COLUMNS = SLOTS[1]


def matrix(rows: int, columns: int, dtype: Any = np.float64, density: float = 0.3) -> Any:
    """Returns a dense array whose rows have as different numbers of entries as can be."""
    rng = np.random.default_rng(0)
    full = rng.integers(1, 9, (rows, columns)).astype(dtype)
    full[rng.random((rows, columns)) > density] = 0
    full[: rows // 4] = 0
    return full


def stored(full: Any, encoding: str) -> Any:
    return ms.tensor(full, "CSR").convert(encoding)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int8, np.complex128])
@pytest.mark.parametrize("encoding", SLOTS)
def test_products_with_vectors(encoding: str, dtype: Any) -> None:
    full, x, b = matrix(24, 17, dtype), np.arange(1, 18).astype(dtype), np.arange(24).astype(dtype)
    A = stored(full, encoding)
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), full @ x, rtol=1e-5)
    np.testing.assert_allclose(ms.evaluate("y(i) = b(i) - A(i,j) * x(j)", A=A, b=b, x=x), b - full @ x, rtol=1e-5)
    np.testing.assert_allclose(ms.evaluate("y(j) = A(i,j) * b(i)", A=A, b=b), full.T @ b, rtol=1e-5)


@pytest.mark.parametrize("encoding", SLOTS)
def test_products_with_matrices(encoding: str) -> None:
    full, B = matrix(24, 17), np.arange(17.0 * 5).reshape(17, 5)
    np.testing.assert_allclose(ms.evaluate("C(i,k) = A(i,j) * B(j,k)", A=stored(full, encoding), B=B), full @ B)


@pytest.mark.parametrize(("text", "expected"), [("max", np.max), ("min", np.min), ("sum", np.sum)])
@pytest.mark.parametrize("encoding", SLOTS)
def test_reductions_take_no_padding(encoding: str, text: str, expected: Any) -> None:
    full = -matrix(24, 17, density=0.9)
    found = ms.evaluate(f"y(i) = {text}(j : A(i,j))", A=stored(full, encoding))
    np.testing.assert_array_equal(found, expected(full, axis=1))


def test_padding_is_never_multiplied() -> None:
    full, x = matrix(24, 17), np.full(17, np.inf)
    full[0, 0] = 0
    x[0] = np.nan
    with np.errstate(invalid="ignore"):
        expected = np.array([(row[row != 0] * x[row != 0]).sum() for row in full])
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=stored(full, "SlotELL"), x=x), expected)


def test_padding_is_never_divided_by() -> None:
    full, x = matrix(24, 17, np.int32), np.zeros(17, np.int32)
    used = np.flatnonzero(full.any(axis=0))
    x[used[1:]] = 1
    full[:, used[0]] = 0
    found = ms.evaluate("y(i) = A(i,j) / x(j)", A=stored(full, "SlotELL"), x=x)
    np.testing.assert_array_equal(found, full.sum(axis=1))


@pytest.mark.parametrize("encoding", SLOTS)
@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 4), (4, 0), (1, 1), (5, 3)])
def test_all_extents(encoding: str, rows: int, columns: int) -> None:
    full, x = matrix(rows, columns, density=0.8), np.ones(columns)
    A = stored(full, encoding)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    for _ in range(2):  # the second call takes the short way
        np.testing.assert_array_equal(kernel(A=A, x=x), full.sum(axis=1))


def test_sums_onto_what_there_is() -> None:
    full, x, y = matrix(24, 17), np.arange(17.0), np.arange(24.0)
    A = stored(full, "SlotELL")
    kernel = ms.compile("y(i) += A(i,j) * x(j)", A=A.type, x="f64[?]", y="f64[?]")
    for _ in range(2):
        out = y.copy()
        np.testing.assert_allclose(kernel(A=A, x=x, y=out, out=out), y + full @ x)


@pytest.mark.parametrize("widths", [(32, 32), (64, 64), (32, 16), (16, 8)])
def test_all_widths(widths: tuple[int, int]) -> None:
    full, x = matrix(24, 17), np.arange(17.0)
    A = stored(full, ms.encoding("SlotELL").with_widths(*widths))
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), full @ x)


def test_pieces_of_slots() -> None:
    full, x = matrix(700, 300), np.arange(300.0)
    A = stored(full, "SlotELL")
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, threads=3)
    np.testing.assert_allclose(kernel(A=A, x=x), full @ x)


def test_positions_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_VECTOR_LANES", "0")  # slot-rows would write loops over vectors of rows
    text = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] SlotELL", x="f64[?]").ir("sparsified")
    assert text.count("scf.for ") == 2
    assert "arith.cmpi sge" in text
    # Narrow coordinates have no sign: which of them are none only the positions say.
    narrow = ms.encoding("SlotELL").with_widths(16, 8)
    text = ms.compile("y(i) = A(i,j) * x(j)", A=f"f64[?,?] {narrow}", x="f64[?]").ir("sparsified")
    assert text.count("scf.for ") == 3


def test_lists_with_room_stay() -> None:
    text = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] ELL", x="f64[?]").ir("sparsified")
    assert "arith.cmpi sge" not in text


def test_another_tensor_of_the_same_levels_is_refused() -> None:
    full, x = matrix(12, 12), np.arange(12.0)
    A, turned = stored(full, "SlotELL"), stored(full, BY_COLUMNS)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    for _ in range(2):
        np.testing.assert_allclose(kernel(A, x), full @ x)
    with pytest.raises(ms.OperandError, match="expected A stored as"):
        kernel(turned, x)
    np.testing.assert_allclose(kernel(stored(full, "SlotELL"), x), full @ x)
    with pytest.raises(ms.ExtentError):
        kernel(A, np.arange(13.0))


@pytest.mark.parametrize("stored", ["SlotELL", "HashedRows"])
def test_it_says_that_slots_are_read_as_such(stored: str) -> None:
    assert said_by("read-slots", SPMV, A=stored, x="") == ["applied to j"]


def test_it_says_why_lists_stay_lists() -> None:
    assert said_by("read-slots", SPMM, A="SlotELL", B="") == ["k: loops or branches are inside"]


@pytest.mark.parametrize("stored", ["ELL", "CSR"])
def test_it_says_nothing_where_there_are_no_slots(stored: str) -> None:
    assert said_by("read-slots", SPMV, A=stored, x="") == []
