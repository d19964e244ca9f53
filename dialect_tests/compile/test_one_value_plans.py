"""Plans for graphs, whose values are all equal: each call looks, and loops then read one of the values."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from mlir_sparse.compile import statement_optimizer
from mlir_sparse.machine import machine_profile
from mlir_sparse.runtime import linked_program
from mlir_sparse.tensor.symmetric_matrix import has_one_value, is_symmetric_of_one_value

PATHS = "s = A(i,j) * A(j,k) * A(k,l)"
RANKS = "p(j) = d * A(i,j) * r(i) * w(i) + t"


def graph(
    nodes: int = 20_000, degree: float = 3, dtype: str = "float64", storage: str = "CSR", value: Any = 1
) -> ms.SparseTensor:
    """Returns an undirected graph, some of whose vertices have no edge."""
    whole = edges(nodes, degree).copy()
    whole.data[:] = value
    return ms.tensor(ms.tensor(whole).astype(dtype), storage)


@cache
def edges(nodes: int, degree: float) -> Any:
    rng = np.random.default_rng(nodes)
    half = scipy.sparse.random_array((nodes, nodes), density=degree / nodes, rng=rng, format="csr")
    whole = (half + half.T).tocsr()
    assert (np.diff(whole.indptr) == 0).any()
    return whole


@pytest.fixture
def where_scattering_is_slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans for a make on which it takes longer to add to far elements than to read them."""
    monkeypatch.setenv("MLIR_SPARSE_MACHINE", "intel-xeon-family-6")
    plan_anew()
    yield
    monkeypatch.undo()
    plan_anew()


def plan_anew() -> None:
    machine_profile.cache_clear()
    statement_optimizer._cheapest.cache_clear()
    linked_program._tell_of_machine(machine_profile())


def web() -> ms.SparseTensor:
    return graph(100_000)


def ranks(A: ms.SparseTensor) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    r, w = rng.random(A.shape[0]) + 1, rng.random(A.shape[0]) + 1
    return {"d": np.float64(0.85), "A": A, "r": r, "w": w, "t": np.float64(0.25)}


def off(text: str, **tensors: Any) -> Any:
    return ms.evaluate(text, tensors=tensors, optimize="off")


def alike(kernel: Any) -> tuple[str, ...]:
    chosen = kernel.spec.rewriting
    return () if chosen is None else chosen.of_one_value


def applied(kernel: Any) -> list[str]:
    return [one.loop for one in kernel.remarks() if one.strategy == "one-value" and one.applied]


def test_paths_read_one_value() -> None:
    A = graph()
    kernel = ms.compile(PATHS, A=A)
    assert alike(kernel) == ("A",)
    assert [str(part) for part in kernel.spec.rewriting.parts] == ["s.part(j) = sum(i : A(j,i))"]
    assert "if symmetric, of one value, which calls check: A" in kernel.explain()
    assert applied(kernel) == ["i", "k"]
    sums, products = kernel.ir("sparsified").split("func.func @kernel_1")
    assert "scf.while" not in sums
    assert "arith.uitofp" in sums
    assert "memref.load %subview_1" in products
    np.testing.assert_allclose(kernel(A), off(PATHS, A=A), rtol=1e-12)


@pytest.mark.usefixtures("where_scattering_is_slow")
def test_ranks_are_pulled() -> None:
    """Where the entries of a row name what they are added to, a graph is read as its transpose."""
    A = web()
    given = ranks(A)
    kernel = ms.compile(RANKS, tensors=given)
    assert alike(kernel) == ("A",)
    assert [str(part) for part in kernel.spec.rewriting.parts] == ["p.part(i) = r(i) * w(i)"]
    assert "A(j,i)" in str(kernel.spec.rewriting.value)
    assert applied(kernel) == ["i"]
    for _ in range(2):
        np.testing.assert_allclose(kernel(**given), off(RANKS, **given), rtol=1e-12)


@pytest.mark.usefixtures("where_scattering_is_slow")
def test_ranks_of_few_vertices_are_pushed() -> None:
    A = web()
    given = ranks(A)
    few = {**given, "r": np.where(np.arange(A.shape[0]) < 20, given["r"], 0)}
    for compiled in (given, few):
        kernel = ms.compile(RANKS, tensors=compiled)
        assert "(push)" in kernel.explain(**few)
        assert "(push)" not in kernel.explain(**given)
        for one in (few, given, few):
            np.testing.assert_allclose(kernel(**one), off(RANKS, **one), rtol=1e-12)


@pytest.mark.usefixtures("where_scattering_is_slow")
def test_ranks_of_other_matrices_are_computed_as_written() -> None:
    A = web()
    weighted = A.copy()
    weighted.storage.values[:] = np.random.default_rng(0).random(A.nse)
    symmetric = A.copy()  # in two values
    symmetric.storage.values[A.to_scipy().tocoo().row == A.to_scipy().tocoo().col] = 2.0
    symmetric.storage.values[0] = symmetric.storage.values[0] * 2
    directed = ms.tensor(scipy.sparse.triu(A.to_scipy()).tocsr())
    for one in (weighted, symmetric, directed, ms.tensor(A, "COO")):
        kernel = ms.compile(RANKS, tensors=ranks(one))
        assert alike(kernel) == ()
        np.testing.assert_allclose(kernel(**ranks(one)), off(RANKS, **ranks(one)), rtol=1e-12)
    kernel = ms.compile(RANKS, tensors=ranks(A))
    for one in (A, weighted, symmetric, directed, A):
        np.testing.assert_allclose(kernel(**ranks(one)), off(RANKS, **ranks(one)), rtol=1e-12)


@pytest.mark.usefixtures("where_scattering_is_slow")
@pytest.mark.parametrize("value", [2.0, -0.0, 0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308])
@pytest.mark.parametrize("text", [PATHS, "y(j) = A(i,j) * A(j,k) * A(k,l)", RANKS])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_values_of_every_kind(text: str, value: float, threads: int) -> None:
    """What no entry adds to is what it was, whatever the value is."""
    A = web() if text == RANKS else graph()
    given = ranks(A) if text == RANKS else {"A": A}
    kernel = ms.compile(text, tensors=given).within(threads, False)
    assert alike(kernel) == ("A",)
    kernel(**given)
    A.storage.values[:] = value
    with np.errstate(all="ignore"):
        for _ in range(2):
            np.testing.assert_allclose(kernel(**given), off(text, **given), rtol=1e-12)


@crossed(
    text=[
        PATHS,
        "y(j) = A(i,j) * A(j,k) * A(k,l)",
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
        "s = A(i,j) * A(j,k) * A(k,i)",
    ],
    storage=["CSR", "CSC"],
    dtype=["float64", "float32", "int64", "int8", "complex128", "float16"],
)
def test_statements_of_users(text: str, storage: str, dtype: str) -> None:
    value = graph(1500, dtype=dtype, storage=storage, value=3)
    kernel, expected = ms.compile(text, A=value), off(text, A=value)
    if dtype.startswith("int"):
        np.testing.assert_array_equal(kernel(value), expected)
    else:
        np.testing.assert_allclose(kernel(value), expected, rtol=2e-3 if dtype == "float16" else 1e-4)


@pytest.mark.usefixtures("where_scattering_is_slow")
def test_values_that_are_written_between_calls() -> None:
    A = graph()
    kernel, expected = ms.compile(PATHS, A=A), off(PATHS, A=A)
    for place in (0, A.nse // 2, A.nse - 1):
        np.testing.assert_allclose(kernel(A), expected, rtol=1e-12)
        A.storage.values[place] = 7.0
        for _ in range(2):
            np.testing.assert_allclose(kernel(A), off(PATHS, A=A), rtol=1e-12)
            np.testing.assert_allclose(ms.evaluate(PATHS, A=A), off(PATHS, A=A), rtol=1e-12)
        A.storage.values[place] = 1.0
    assert kernel._plans.known is not None
    # By a sample, which was taken when all were equal, they still are: what is planned now does not rely on it.
    A.storage.values[:] = np.random.default_rng(0).random(A.nse)
    np.testing.assert_allclose(kernel(A), off(PATHS, A=A), rtol=1e-12)
    assert kernel._plans.known.rewriting is None or not kernel._plans.known.rewriting.symmetric
    B = web()
    kernel = ms.compile(RANKS, tensors=ranks(B))
    assert alike(kernel) == ("A",)
    for value in (1.0, 2.0):
        B.storage.values[7] = value
        np.testing.assert_allclose(kernel(**ranks(B)), off(RANKS, **ranks(B)), rtol=1e-12)
    assert kernel._plans.known.rewriting is None


def test_alternatives_are_right_for_other_values() -> None:
    A = graph()
    kernel = ms.compile(PATHS, A=A)
    turned = [way for way in kernel.alternatives() if way.spec.rewriting and way.spec.rewriting.symmetric]
    assert turned
    assert not any(way.spec.rewriting.of_one_value for way in turned)
    chosen, other = ms.compile(turned[0], A=A), A.copy()
    rows, columns = other.to_scipy().tocoo().coords
    other.storage.values[:] = rows + columns
    for one in (A, other):
        np.testing.assert_allclose(chosen(one), off(PATHS, A=one), rtol=1e-12)


def test_other_processes(tmp_path: Path) -> None:
    A = graph()
    kernel, other = ms.compile(PATHS, A=A), A.copy()
    kernel(A)
    other.storage.values[0] = 9.0
    kernel.save(tmp_path / "paths.kernel")
    for found in (ms.load(tmp_path / "paths.kernel"), pickle.loads(pickle.dumps(kernel))):
        for one in (A, other, A):
            np.testing.assert_allclose(found(one), off(PATHS, A=one), rtol=1e-12)


def test_one_value() -> None:
    full, empty = graph(200, 2), ms.tensor(scipy.sparse.csr_array((5, 5)))
    assert has_one_value(full)
    assert not has_one_value(empty)
    assert not is_symmetric_of_one_value(empty)
    assert [is_symmetric_of_one_value(full) for _ in range(2)] == [True] * 2
    full.storage.values[-1] = 2
    assert not is_symmetric_of_one_value(full)
    upper = ms.tensor(scipy.sparse.triu(graph(200, 2).to_scipy()).tocsr())
    assert [is_symmetric_of_one_value(upper) for _ in range(2)] == [False] * 2
