"""Rows below the fibres of a sparse tensor: against NumPy's einsum, and in the steps that explain() tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

ROWS = "(i, j, l) -> (i : compressed, j : compressed, l : dense)"
PRODUCTS = [
    ("C(i,j,l) = A(i,j,k) * M(k,l)", "ijk,kl->ijl", ROWS),
    ("C(i,j,l) = A(i,j,k) * M(k,l)", "ijk,kl->ijl", "CSF"),
    ("C(i,l,j) = A(i,j,k) * M(k,l)", "ijk,kl->ilj", "(i, l, j) -> (i : compressed, j : compressed, l : dense)"),
    ("C(i,j) = -A(i,j,k) * v(k)", "ijk,k->ij", "DCSR"),
    ("C(i,j) = A(i,j,k) * v(k) / 2", "ijk,k->ij", "CSR"),
    ("C(i) = A(i,j,k) * B(j,k)", "ijk,jk->i", "(i) -> (i : compressed)"),
    ("C(i,l) = A(i,j,k) * M(k,l) * B(j,k)", "ijk,kl,jk->il", "(i, l) -> (i : compressed, l : dense)"),
]
FACTORS = {"-A": -1.0, "/ 2": 0.5}


def _operands(text: str, dense: np.ndarray[Any, Any]) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    _, columns, depth = dense.shape
    given = {"M": rng.random((depth, 5)), "v": rng.random(depth), "B": rng.random((columns, depth))}
    return {name: array for name, array in given.items() if f"{name}(" in text}


@pytest.mark.parametrize("storage", ["CSF", "COO", "BSR"])
@pytest.mark.parametrize(("text", "einsum", "out"), PRODUCTS)
def test_rows_below_fibres_are_right(text: str, einsum: str, out: str, storage: str) -> None:
    kernel = None
    for shape in [(5, 6, 7), (1, 1, 1), (0, 6, 7), (5, 6, 0)]:
        rng = np.random.default_rng(0)
        dense = np.where(rng.random(shape) < 0.1, rng.random(shape), 0)
        A, others = ms.tensor(dense, storage), _operands(text, dense)
        kernel = kernel or ms.compile(text, out=out, A=A, **others)
        factor = next((factor for part, factor in FACTORS.items() if part in text), 1.0)
        expected = factor * np.einsum(einsum, dense, *others.values())
        found = kernel(A, *others.values())
        assert found.encoding.with_widths(0, 0) == ms.encoding(out, rank=found.ndim).with_widths(0, 0)
        np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-14)
        structure = kernel.assemble(A, *others.values())
        np.testing.assert_allclose(kernel.compute(A, *others.values(), out=structure).to_numpy(), expected, atol=1e-14)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("widths", [{}, {"pos_width": 64, "crd_width": 64}])
def test_levels_of_many_fibres_are_copied_by_all_threads(widths: dict[str, int], threads: int) -> None:
    rng = np.random.default_rng(0)
    places = np.unique(rng.integers(0, 1000 * 2000 * 9, 300_000))
    coords = np.unravel_index(places, (1000, 2000, 9))
    A = ms.tensor((coords, rng.integers(1, 5, places.size).astype(float)), "CSF", shape=(1000, 2000, 9), **widths)
    v = np.arange(9.0)
    kernel = ms.compile("C(i,j) = A(i,j,k) * v(k)", A=A, v=v, out="DCSR", threads=threads)
    C = kernel(A, v)
    for ours, theirs in zip(C.storage.buffers()[:-1], A.storage.buffers(), strict=False):
        assert not np.shares_memory(ours, theirs)
        np.testing.assert_array_equal(ours, theirs)
    pairs = np.zeros(1000 * 2000)
    np.add.at(pairs, places // 9, A.storage.values * v[coords[2]])
    np.testing.assert_array_equal(C.to_numpy().ravel(), pairs)


def test_fibres_are_those_of_the_values_of_each_call() -> None:
    """The view is kept with the tensor; values may be written, and other kernels look at fibres of other levels."""
    full = np.where(np.arange(120).reshape(2, 3, 4, 5) % 7 == 0, 1.0, 0.0)
    A, B, v, M = ms.tensor(full, "CSF"), ms.tensor(2 * full, "CSF"), np.arange(5.0), np.ones((4, 5))
    last = ms.compile("C(i,j,k) = A(i,j,k,l) * v(l)", A=A, v=v, out="CSF")
    two = ms.compile("C(i,j) = A(i,j,k,l) * M(k,l)", A=A, M=M, out="DCSR")
    for factor in (1.0, 3.0):
        for T, times in ((A, factor), (B, 2 * factor), (A, factor)):
            np.testing.assert_array_equal(last(T, v).to_numpy(), times * np.einsum("ijkl,l->ijk", full, v))
            np.testing.assert_array_equal(two(T, M).to_numpy(), times * np.einsum("ijkl,kl->ij", full, M))
        A.storage.values[:] *= 3
        B.storage.values[:] *= 3


def test_the_result_owns_the_levels_above_its_rows() -> None:
    A = ms.tensor(np.where(np.arange(60).reshape(3, 4, 5) % 7 == 0, 1.0, 0.0), "CSF")
    C = ms.evaluate("C(i,j,l) = A(i,j,k) * M(k,l)", A=A, M=np.ones((5, 2)), out=ROWS)
    for level in (0, 1):
        ours, theirs = C.storage.coordinates[level], A.storage.coordinates[level]
        assert ours is not None
        assert theirs is not None
        assert not np.shares_memory(ours, theirs)
        np.testing.assert_array_equal(ours, theirs)


def test_explain_says_that_fibres_make_rows() -> None:
    kernel = ms.compile("C(i,j,l) = A(i,j,k) * M(k,l)", A="f64[?,?,?] CSF", M="f64[?,?]", out=ROWS)
    text = kernel.explain()
    assert "A.fibres is A as its fibres below 2 levels" in text
    assert "C.rows(A.fibre,l) += A.fibres(A.fibre,k) * M(k,l)" in text
    assert "C has C.rows below the first 2 levels of A" in text


@pytest.mark.parametrize(
    "text",
    [
        "C(i,j,l) = A(i,j,k) * M(k,l) * u(i)",  # a factor of the levels above
        "C(i,k,l) = A(i,j,k) * M(j,l)",  # contracts a level that is not innermost
        "C(i,j,l) = max(k : A(i,j,k) * M(k,l))",
    ],
)
def test_other_contractions_are_inserted(text: str) -> None:
    given = {"M": "f64[?,?]", "u": "f64[?]"}
    others = {name: kind for name, kind in given.items() if f"{name}(" in text}
    assert ".fibre" not in ms.compile(text, A="f64[?,?,?] CSF", out="CSF", **others).explain()


@pytest.mark.parametrize(("storage", "out"), [("CSF", "CSR"), ("COO", "DCSR")])
def test_one_entry_a_fibre_is_inserted_where_storage_differs(storage: str, out: str) -> None:
    kernel = ms.compile("C(i,j) = A(i,j,k) * u(k)", A=f"f64[?,?,?] {storage}", u="f64[?]", out=out)
    assert ".fibre" not in kernel.explain()
    assert ".fibre" in ms.compile("C(i,j) = A(i,j,k) * u(k)", A="f64[?,?,?] CSF", u="f64[?]", out="DCSR").explain()
