"""Statements on `dask.array`s whose pieces read neighbours: parts of operands overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(13)
D = np.where(_RANDOM.random((33, 20)) < 0.3, _RANDOM.integers(1, 9, (33, 20)), 0).astype(float)
W, w, b = np.arange(6.0).reshape(3, 2), np.arange(1.0, 4), _RANDOM.random(15)
STATEMENTS: dict[str, dict[str, Any]] = {
    "Y(i,j) = A(i + k, j + l) * W(k,l)": {"W": W},
    "Y(i,j) = A(i + k, j) * w(k) * i": {"w": w},
    "Y(i,j) = A(i + 4, j + 1) - A(i + 2, j + 2)": {},
    "y(i) = A(2*i + k, j) * w(k) * b(i)": {"w": w, "b": b},
    "s = A(i + k, j) * w(k)": {"w": w},
}


@pytest.mark.parametrize("pieces", [1, 5, (4, 3)])
@pytest.mark.parametrize("text", STATEMENTS)
def test_pieces_make_the_whole(text: str, pieces: Any) -> None:
    operands = STATEMENTS[text]
    found = msd.evaluate(text, A=msd.from_tensor(ms.tensor(D, "CSR"), pieces=pieces), out="dense", **operands)
    whole = ms.evaluate(text, A=ms.tensor(D, "CSR"), out="dense", **operands)
    assert found.shape == whole.shape
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), whole, rtol=1e-12)


@pytest.mark.parametrize("along", ["i", ("i", "j")])
def test_arrays_in_chunks_beside_a_resident_tensor(along: Any) -> None:
    """The resident operand is cut where the other's chunks lie."""
    text = "Y(i,j) = A(i + k, j) * w(k) * F(i,j)"
    F = np.arange(31.0 * 20).reshape(31, 20)
    found = msd.evaluate(text, A=ms.tensor(D, "CSR"), F=da.from_array(F, chunks=(7, 8)), w=w, out="dense", along=along)
    np.testing.assert_allclose(
        found.compute(scheduler="synchronous"), ms.evaluate(text, A=ms.tensor(D, "CSR"), F=F, w=w, out="dense")
    )


def test_an_axis_that_two_variables_share_is_cut_along_one() -> None:
    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=3)
    with pytest.raises(ms.UnsupportedError, match="A is cut along the same axis by another variable of the sum"):
        msd.evaluate("Y(i,j) = A(i + k, j) * w(k)", A=A, w=da.from_array(w, chunks=1), along=("i", "k"))
    told = msd.explain("Y(i,j) = A(i + k, j) * w(k)", A=A, w=w)
    assert "along i: axis 0 of A (the piece's coordinates plus k); each piece reads all of w" in told
