"""Kernels over storage that the dialect has no word for, against the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.tensor.test_foreign import NESTED, part

Array = np.ndarray[Any, Any]

FORMATS = [
    "DIA",
    "Banded(2, 1)",
    "SlotELL",
    "CountedELL",
    "RowIntervals",
    "PackedLower",
    "UpperSkyline",
    "HashedRows",
    NESTED,
    # Their least coordinates vary with the other extent.
    "(i, j) -> (i + j : compressed, j : compressed)",
    "(i, j) -> (-i : dense, j : compressed)",
]
KERNELS = [
    ("y(i) = A(i,j) * x(j)", "dense"),
    ("y(j) = A(i,j) * x(i)", "dense"),
    ("C(i,k) = A(i,j) * B(j,k)", "dense"),
    ("C(i,j) = A(i,j) * S(i,j)", "CSR"),
    ("C(i,j) = A(i,j) + S(i,j)", "CSR"),
    # Read over its levels by one term, and met with S by another.
    ("C(i,j) = A(i,j) * D(i,j) + A(i,j) * S(i,j) + D(i,j)", "CSR"),
]


def matrices(rng: np.random.Generator) -> Iterator[Array]:
    """Random, empty, full, one entry, one row, one column, and no extent at all."""
    for shape in [(4, 6), (6, 4), (1, 7), (7, 1), (0, 4), (4, 0)]:
        yield np.where(rng.random(shape) < 0.4, rng.integers(1, 9, shape), 0).astype(float)
    yield np.zeros((4, 6))
    yield np.ones((4, 6))
    one = np.zeros((4, 6))
    one[2, 3] = 5
    yield one


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize(("notation", "out"), KERNELS)
def test_kernels(text: str, notation: str, out: str) -> None:
    rng = np.random.default_rng(7)
    for dense in matrices(rng):
        stored = ms.tensor(part(dense, text), text)
        rows, columns = dense.shape
        other = np.where(rng.random(dense.shape) < 0.5, 3.0, 0.0)
        size = rows if notation.startswith("y(j)") else columns
        given: dict[str, Array] = {"x": rng.random(size), "B": rng.random((columns, 3)), "D": other + 1, "S": other}
        used = {name: array for name, array in given.items() if f"{name}(" in notation.split("=")[1]}
        expected = oracle.evaluate(notation, {"A": stored.to_numpy(), **used})
        operands: dict[str, Any] = {
            name: ms.tensor(array, "CSR") if name == "S" else array for name, array in used.items()
        }
        found = ms.evaluate(notation, A=stored, **operands, out=out)
        oracle.assert_close(np.asarray(found), expected, terms=8)


@pytest.mark.parametrize("notation", ["s = h(i) * x(i)", "y(i) = h(i) * x(i)", "y(i) = h(i) + x(i)"])
def test_hashed_vectors(notation: str) -> None:
    dense = np.array([0, 3.0, 0, 0, 2, 0, 1, 0, 0])
    x = np.arange(9.0)
    found = ms.evaluate(notation, h=ms.tensor(dense, "HashVector"), x=x)
    oracle.assert_close(np.asarray(found), oracle.evaluate(notation, {"h": dense, "x": x}), terms=9)


@pytest.mark.parametrize("out", ["DIA", "SlotELL", "CountedELL", "RowIntervals", "HashedRows"])
def test_results(out: str) -> None:
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((5, 5)) < 0.4, 2.0, 0.0)
    found = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=ms.tensor(dense, "CSR"), B=ms.tensor(dense, "DIA"), out=out)
    assert isinstance(found, ms.SparseTensor)
    assert found.encoding.levels[1:] == ms.encoding(out).levels[1:]
    oracle.assert_close(found.to_numpy(), dense @ dense, terms=5)
