"""Results with the entries of one operand: against NumPy, and in the steps that explain() tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

SAMPLED = "C(i,j) = S(i,j) * X(i,k) * Y(j,k)"
STORAGES = ["CSR", "CSC", "DCSR", "COO", "COO_SoA", "DCSC"]
# Each with what NumPy makes of dense operands.
PRODUCTS: dict[str, Any] = {
    SAMPLED: lambda S, X, Y, u: S * (X @ Y.T),
    "C(i,j) = 2 * S(i,j)": lambda S, X, Y, u: 2 * S,
    "C(i,j) = -S(i,j) * u(j)": lambda S, X, Y, u: -S * u,
    "C(i,j) = S(i,j) / u(j)": lambda S, X, Y, u: S / u,
    "C(i,j) = abs(S(i,j)) * u(j) * X(i,k)": lambda S, X, Y, u: abs(S) * u * X.sum(1)[:, None],
}


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Calls on one thread, and in as many pieces as can be cut."""
    before = ms.get_num_threads()
    ms.set_num_threads(request.param)
    yield request.param
    ms.set_num_threads(before)


def _operands(rows: int, columns: int, inner: int, dtype: Any = np.float64) -> dict[str, Any]:
    rng = np.random.default_rng(rows + columns)
    dense = np.where(rng.random((rows, columns)) < 0.3, rng.integers(-4, 5, (rows, columns)), 0).astype(dtype)
    sizes = {"X": (rows, inner), "Y": (columns, inner), "u": (columns,)}
    return {"S": dense, **{name: rng.integers(1, 5, size).astype(dtype) for name, size in sizes.items()}}


def _used(text: str, operands: dict[str, Any]) -> dict[str, Any]:
    return {name: array for name, array in operands.items() if f"{name}(" in text and name != "S"}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("text", PRODUCTS)
def test_values_are_right(text: str, storage: str, threads: int) -> None:
    kernel = None
    for shape in [(40, 30, 5), (1, 1, 1), (0, 4, 2), (5, 0, 3), (7, 9, 17)]:
        made = _operands(*shape)
        S, others = ms.tensor(made["S"], storage), _used(text, made)
        kernel = kernel or ms.compile(text, S=S, out=storage, **others)
        found = kernel(S, *(others[name] for name in kernel.parameters if name != "S"))
        assert found.encoding == S.encoding
        np.testing.assert_array_equal(found.to_numpy(), PRODUCTS[text](**made))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.complex128])
def test_element_types(dtype: Any) -> None:
    made = _operands(20, 25, 6, dtype)
    found = ms.evaluate(SAMPLED, S=ms.tensor(made["S"]), X=made["X"], Y=made["Y"], out="CSR")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.to_numpy(), made["S"] * (made["X"] @ made["Y"].T))


@pytest.mark.parametrize("storage", STORAGES)
def test_entries_without_terms_are_zeros(storage: str) -> None:
    made = _operands(6, 7, 0)
    S = ms.tensor(made["S"], storage)
    found = ms.evaluate(SAMPLED, S=S, X=made["X"], Y=made["Y"], out=storage)
    assert found.nse == S.nse > 0
    assert not found.storage.values.any()


def test_explicit_zeros_are_entries() -> None:
    S = ms.SparseTensor.from_levels(
        "CSR", (2, 3), [None, np.array([0, 2, 3])], [None, np.array([0, 2, 1])], np.arange(3.0)
    )
    found = ms.evaluate("C(i,j) = S(i,j) * u(j)", S=S, u=np.ones(3), out="CSR")
    np.testing.assert_array_equal(found.storage.values, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("storage", STORAGES)
def test_the_result_owns_its_arrays(storage: str) -> None:
    S = ms.tensor(_operands(20, 25, 6)["S"], storage)
    found = ms.evaluate("C(i,j) = 2 * S(i,j)", S=S, out=storage)
    for ours, theirs in zip(found.storage.buffers(), S.storage.buffers(), strict=True):
        assert not np.shares_memory(ours, theirs)
    for ours, theirs in zip(found.storage.buffers()[:-1], S.storage.buffers()[:-1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("storage", ["CSR", "COO"])
def test_values_into_a_structure(storage: str) -> None:
    made = _operands(20, 25, 6)
    S = ms.tensor(made["S"], storage)
    kernel = ms.compile(SAMPLED, S=S, X=made["X"], Y=made["Y"], out=storage)
    C = kernel.assemble(S, made["X"], made["Y"])
    assert not C.storage.values.any()
    kernel.compute(S, made["X"], made["Y"], out=C)
    np.testing.assert_array_equal(C.to_numpy(), made["S"] * (made["X"] @ made["Y"].T))
    other = ms.tensor(np.eye(20, 25), storage)
    with pytest.raises(ms.StorageError, match="structure of the result"):
        kernel.compute(S, made["X"], made["Y"], out=other)


def test_kernels_from_files(tmp_path: Path) -> None:
    made = _operands(20, 25, 6)
    S = ms.tensor(made["S"], "CSR")
    kernel = ms.compile(SAMPLED, S=S, X=made["X"], Y=made["Y"], out="CSR")
    kernel(S, made["X"], made["Y"])
    kernel.save(tmp_path / "sampled.msk")
    loaded = ms.load(tmp_path / "sampled.msk")
    for _ in range(2):  # the second call takes the short way
        found = loaded(S, made["X"], made["Y"])
        np.testing.assert_array_equal(found.to_numpy(), made["S"] * (made["X"] @ made["Y"].T))
    with pytest.raises(ms.ExtentError):
        loaded(S, made["X"][:5], made["Y"])


def test_sampled_temporaries() -> None:
    made = _operands(12, 9, 3)
    S, T = ms.tensor(made["S"], "CSR"), ms.tensor(np.eye(12, 9), "CSR")
    text = "C(i,j) = T(i,j) + S(i,j) * X(i,k) * Y(j,k)"
    found = ms.evaluate(text, S=S, T=T, X=made["X"], Y=made["Y"], out="CSR")
    np.testing.assert_array_equal(found.to_numpy(), np.eye(12, 9) + made["S"] * (made["X"] @ made["Y"].T))


def test_explain_says_whose_entries_they_are() -> None:
    kernel = ms.compile(SAMPLED, S="f64[?,?] CSR", X="f64[?,?]", Y="f64[?,?]", out="CSR")
    text = kernel.explain()
    assert "in chunks: along i, by the rows of S, each with a separate part of the result" in text
    assert "into C.values: f64[?] dense, an element at each entry of S(i,j)" in text
    assert "C has C.values below the first 2 levels of S" in text


@pytest.mark.parametrize(
    ("text", "out"),
    [
        (SAMPLED, "DCSR"),  # another storage
        ("C(i,j) = S(i,j) + T(i,j)", "CSR"),  # entries of two operands
        ("C(i,j) = S(i,j) * T(i,j)", "CSR"),  # entries that both have
        ("C(i,j) = S(i,j) * T(i,k) * Y(j,k)", "CSR"),  # rows of T may be without entries
        ("C(i,j) = S(i,k) * T(k,j)", "CSR"),
        ("C(i,j) = S(j,i) * u(j)", "CSR"),
    ],
)
def test_other_results_are_inserted(text: str, out: str) -> None:
    given = {"S": "f64[?,?] CSR", "T": "f64[?,?] CSR", "X": "f64[?,?]", "Y": "f64[?,?]", "u": "f64[?]"}
    used = {name: kind for name, kind in given.items() if f"{name}(" in text}
    assert "at each entry of" not in ms.compile(text, out=out, **used).explain()


def test_schedules_that_gather_rows_insert() -> None:
    made = _operands(12, 9, 3)
    S = ms.tensor(made["S"], "CSR")
    order = ms.Schedule(order=("i", "k", "j"))
    kernel = ms.compile(SAMPLED, S=S, X=made["X"], Y=made["Y"], out="CSR", schedule=order)
    assert "at each entry of" not in kernel.explain()
    np.testing.assert_array_equal(kernel(S, made["X"], made["Y"]).to_numpy(), made["S"] * (made["X"] @ made["Y"].T))
