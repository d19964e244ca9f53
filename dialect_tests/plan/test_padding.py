"""What storage holds past the last row and column counts as nothing, whatever it is multiplied with or divided by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

STORAGES = ("DIA", "Banded(2, 6)", "BSR(2, 2)", "BSR(3, 2)", "RowBlocked", "ColumnBlocked", "ModeGeneric", "SlotELL")
SHAPES = ((3, 2), (3, 7))
INF, NAN = np.inf, np.nan


def _dense(shape: tuple[int, int]) -> Array:
    """Returns a matrix without zeros: all padding of it is outside."""
    return np.arange(1.0, shape[0] * shape[1] + 1).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", STORAGES)
def test_padding_past_the_edges_counts_as_nothing(storage: str, shape: tuple[int, int]) -> None:
    D = _dense(shape)
    A = ms.tensor(D, storage)
    u, x = np.linspace(1, 2, shape[0]), np.linspace(2, 3, shape[1])
    cases: list[tuple[str, dict[str, Any], Array]] = [
        ("y(i) = sum(j : A(i,j) * w)", {"w": INF}, np.full(shape[0], INF)),
        ("y(j) = sum(i : w * A(i,j))", {"w": -INF}, np.full(shape[1], -INF)),
        ("y = sum(i, j : A(i,j) / w)", {"w": 0.0}, np.array(INF)),
        ("y(i) = sum(j : A(i,j) * u(i) * x(j))", {"u": np.full(shape[0], INF), "x": x}, np.full(shape[0], INF)),
        ("y(i) = A(i,j) / x(j)", {"x": x}, (D / x).sum(1)),
        ("y(j) = A(i,j) / u(i)", {"u": u}, (D / u[:, None]).sum(0)),
        ("y(i) = b(i) - A(i,j) * log(x(j))", {"b": u, "x": x}, u - D @ np.log(x)),
        ("y(i) = or(j : A(i,j) / x(j) != A(i,j) / x(j))", {"x": x}, np.zeros(shape[0])),
        ("y(i) = sum(j : where(A(i,j) * w != 0, 1, 0))", {"w": INF}, np.full(shape[0], shape[1])),
        ("y(i) = min(j : A(i,j) * w)", {"w": -1.0}, -D.max(1)),
        ("y(j) = prod(i : A(i,j))", {}, D.prod(0)),
    ]
    for text, operands, expected in cases:
        found = ms.evaluate(text, A=A, **operands)
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=text)


@pytest.mark.parametrize("storage", ["DIA", "Banded(2, 6)", "BSR(2, 2)", "RowBlocked", "ColumnBlocked"])
def test_products_of_zeros_need_no_condition(storage: str) -> None:
    types = {"A": f"f64[?,?] {storage}", "x": "f64[?]", "u": "f64[?]"}
    for text in ("y(i) = A(i,j) * x(j)", "y(j) = 2 * A(i,j) * u(i)", "y(i) = sin(A(i,j)) * x(j) / 3"):
        tensors = {name: kind for name, kind in types.items() if f"{name}(" in text}
        assert "inside" not in ms.compile(text, tensors=tensors).explain(), text
    integers = {"A": f"i64[?,?] {storage}", "w": "i64[]"}
    assert "inside" not in ms.compile("y(i) = sum(j : w * A(i,j))", tensors=integers).explain()


def test_whole_blocks_have_no_edges_to_reach_beyond() -> None:
    text = "y(i) = sum(j : w * A(i,j))"
    for columns, reaches in (("6", False), ("7", True), ("?", True)):
        tensors = {"A": f"f64[?,{columns}] BSR(2, 2)", "w": "f64[]"}
        assert ("inside" in ms.compile(text, tensors=tensors).explain()) == reaches, columns


@pytest.mark.parametrize(
    ("storage", "expected"),
    [("CSR", [3, 0, INF]), ("DIA", [3, NAN, INF]), ("BSR(2, 2)", [NAN, NAN, INF]), ("Banded(2, 6)", [NAN, NAN, INF])],
)
def test_padding_inside_counts_as_stored_zeros(storage: str, expected: list[float]) -> None:
    D = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 4]])
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(D, storage), x=np.array([1.0, INF, 1]))
    np.testing.assert_array_equal(found, expected)
