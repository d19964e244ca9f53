"""einsum and lazy expressions of `dask.array`s are dask.arrays, and give what they give on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

random = np.random.default_rng(8)
N = 30
D = random.random((N, N)) * (random.random((N, N)) < 0.2)
E = random.random((N, N)) * (random.random((N, N)) < 0.2)
x = random.random(N)


def _chunks(dense: np.ndarray, storage: str, pieces: int) -> Any:
    return msd.from_tensor(ms.tensor(dense, storage), pieces=pieces)


PRODUCTS: dict[str, tuple[Any, ...]] = {
    "ij,j->i": (D, x),
    "ij,jk,k->i": (D, E, x),
    "ij,jk->ik": (D, E),
    "ij,kj->ik": (D, E),
    "ij->": (D,),
    "ij->ji": (D,),
    "ij,ij->j": (D, np.ones((N, 1))),
    "...j,j": (D, x),
    "i,ij,j->": (x, D, x),
}


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR"])
@pytest.mark.parametrize("text", PRODUCTS)
def test_einsum_gives_dask_arrays(text: str, storage: str) -> None:
    operands = PRODUCTS[text]
    expected = np.einsum(text, *operands)
    sparse = [number for number, one in enumerate(operands) if one.shape == (N, N)]
    for chosen in ([sparse[0]], sparse):
        parts = [_chunks(one, storage, 4) if number in chosen else one for number, one in enumerate(operands)]
        for optimize in (None, False):
            found = ms.einsum(text, *parts, optimize=optimize)
            assert isinstance(found, da.Array)
            np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), expected, rtol=1e-12)
    # An array in chunks among tensors at hand.
    parts = [da.from_array(one, chunks=7) if one.ndim == 1 else ms.tensor(one, storage) for one in operands]
    if any(isinstance(one, da.Array) for one in parts):
        found = ms.einsum(text, *parts)
        np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), expected, rtol=1e-12)


def test_einsum_takes_its_options_on_dask() -> None:
    A, B = _chunks(D, "CSR", 3), _chunks(E, "CSR", 4)
    path = ["einsum_path", (1, 2), (0, 1)]
    found = ms.einsum("ij,jk,k->i", A, B, x, optimize=path).compute(scheduler="threads")
    np.testing.assert_allclose(found, D @ (E @ x), rtol=1e-12)
    found = ms.einsum("ij,j->i", A, x, dtype=np.float32, casting="unsafe").compute(scheduler="threads")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, D @ x, rtol=1e-5)
    found = ms.einsum("ij,j->i", A, x, semiring="min_plus").compute(scheduler="threads")
    np.testing.assert_allclose(found, np.where(D != 0, D + x, np.inf).min(1), rtol=1e-12)
    assert ms.einsum("ij,jk->ik", A, B, out="DCSR").compute(scheduler="threads").shape == (N, N)
    found = ms.einsum(A, [0, 1], x, [1], [0]).compute(scheduler="threads")
    np.testing.assert_allclose(found, D @ x, rtol=1e-12)
    mask = ms.tensor(D != 0, "CSR")
    found = ms.einsum("ij->i", msd.from_tensor(mask, pieces=3)).compute(scheduler="threads")
    np.testing.assert_array_equal(as_array(found), as_array(ms.einsum("ij->i", mask)))


def test_what_einsum_cannot_do_on_dask_is_refused_by_name() -> None:
    A = _chunks(D, "CSR", 3)
    with pytest.raises(ms.UnsupportedError, match=r"expected each index of a dask\.array once, but got `ii`"):
        ms.einsum("ii->i", A)
    found = ms.einsum("ij,ij->i", A, ms.tensor(np.eye(N), "CSR")).compute(scheduler="threads")
    np.testing.assert_allclose(as_array(found), np.diag(D))
    with pytest.raises(ms.OperandError, match="expected the storage of the result for out="):
        ms.einsum("ij,j->i", A, x, out=np.zeros(N))
    with pytest.raises(ms.UnsupportedError, match='expected no order="F" for dask'):
        ms.einsum("ij->ij", A, order="F")
    with pytest.raises(ms.UnsupportedError, match="expected no limit in optimize= for dask"):
        ms.einsum("ij,j->i", A, x, optimize=("greedy", 10))
    with pytest.raises(ms.ExtentError, match="expected index j to range over one extent"):
        ms.einsum("ij,j->i", A, x[:5])
    with pytest.raises(ms.OperandError, match="expected chunks of known sizes"):
        ms.einsum("i,i->", da.from_array(x)[da.from_array(x) > 0.5], x)
    bag = pytest.importorskip("dask.bag").from_sequence([1.0, 2.0])
    with pytest.raises(ms.OperandError, match=r"expected a dask\.array for operand 0, but got Bag"):
        ms.einsum("i->", bag)


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "product": lambda A, B, v: A @ v,
    "products": lambda A, B, v: A @ B @ v,
    "sum of both ways": lambda A, B, v: (A * 2 + A.T).sum(axis=0),
    "function": lambda A, B, v: np.exp(-(A @ v)).sum(),
    "scaled rows": lambda A, B, v: A * v[:, None],
    "transposed": lambda A, B, v: A.T,
    "twice": lambda A, B, v: (A @ v) * (A @ v) + (A @ v).sum(),
    "union": lambda A, B, v: np.maximum(A, B) - A,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("optimize", ["auto", "off"])
def test_lazy_expressions_give_dask_arrays(name: str, optimize: str) -> None:
    expected = EXPRESSIONS[name](D, E, x)
    A, B, v = _chunks(D, "CSR", 4), _chunks(E, "CSR", 3), da.from_array(x, chunks=8)
    S, T = ms.tensor(D, "CSR"), ms.tensor(E, "CSR")
    for operands in ((A, B, x), (A, T, v), (S, T, v), (A, B, v)):
        recorded = EXPRESSIONS[name](*map(ms.lazy, operands))
        found = recorded.compute(optimize=optimize)
        if not isinstance(found, da.Array):  # nothing in chunks was read
            assert operands == (S, T, v)
        else:
            assert found.shape == np.shape(expected)
            found = found.compute(scheduler="threads")
        np.testing.assert_allclose(as_array(found), expected, rtol=1e-12)


def test_several_lazy_expressions_are_computed_together_on_dask() -> None:
    A = ms.lazy(_chunks(D, "CSR", 4))
    y = A @ x
    found, total = ms.compute(y, y.sum())
    np.testing.assert_allclose(found.compute(scheduler="threads"), D @ x, rtol=1e-12)
    np.testing.assert_allclose(total.compute(scheduler="threads"), (D @ x).sum(), rtol=1e-12)
    with pytest.raises(ms.OperandError, match="expected operands in memory for the kernel of a lazy expression"):
        y.explain()
    narrow = ms.lazy(_chunks(D, "CSR", 4)[:1]) * ms.tensor(E, "CSR")
    np.testing.assert_allclose(as_array(narrow.compute().compute(scheduler="threads")), D[:1] * E)


def test_defined_tensors_and_fill_values_beside_dask_arrays() -> None:
    A, U = _chunks(D, "CSR", 3), random.random((N, 2))
    W = ms.define("W(i,j) = U(i,k) * V(j,k)", U=U, V=U)
    for found in (ms.evaluate("y(i) = A(i,j) * W(i,j)", A=A, W=W), ms.einsum("ij,ij->i", A, W)):
        np.testing.assert_allclose(found.compute(scheduler="threads"), (D * (U @ U.T)).sum(axis=1), rtol=1e-12)
    F = ms.tensor(E, "CSR").with_fill(2.0)
    for found in (ms.evaluate("C(i,k) = A(i,j) * F(j,k)", A=A, F=F), ms.einsum("ij,jk->ik", A, F)):
        np.testing.assert_allclose(as_array(found.compute(scheduler="threads")), D @ F.to_numpy(), rtol=1e-12)
    filled = A.map_blocks(lambda part: part.with_fill(2.0))
    with pytest.raises(ms.OperandError, match=r"fill value 2\.0 of a FilledTensor .*: pass x\.to_numpy"):
        ms.evaluate("C(i,k) = A(i,j) * E(j,k)", A=filled, E=E).compute(scheduler="threads")
