"""Sparse results whose rows are in no order: `CSR(unordered)` and its like, from products to what reads them next."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import mlir_sparse as ms
from mlir_sparse.dtypes import DTYPES

PRODUCT = "C(i,j) = A(i,k) * B(k,j)"
LOOSE = "CSR(unordered)"


def drawn(rows: int, columns: int, each: int, seed: int, dtype: Any = np.float64) -> Any:
    """Returns a matrix of small whole numbers, so that all sums are exact; every third row is empty."""
    rng = np.random.default_rng(seed)
    i = np.repeat(np.arange(0, rows, 3), each) if columns else np.zeros(0, int)
    j = rng.integers(0, max(columns, 1), i.size)
    found = scipy.sparse.csr_array(scipy.sparse.coo_array((np.ones(i.size), (i, j)), shape=(rows, columns)))
    found.sum_duplicates()
    found.data = rng.integers(1, 4, found.nnz).astype(dtype)
    return found


def product(A: Any, B: Any, out: str = LOOSE, text: str = PRODUCT, **options: Any) -> Any:
    return ms.evaluate(text, A=ms.tensor(A), B=ms.tensor(B), out=out, **options)


def rows_of(C: Any) -> list[dict[int, Any]]:
    """Returns the entries of each row, which no row has twice."""
    starts, columns, values = C.storage.positions[-1], C.storage.coordinates[-1], C.storage.values
    found = [dict(zip(columns[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(starts)]
    assert sum(map(len, found)) == values.size
    return found


def descends(C: Any) -> bool:
    """Returns whether some row is not in order."""
    starts, columns = C.storage.positions[-1], C.storage.coordinates[-1]
    return any(np.any(np.diff(columns[a:b]) < 0) for a, b in itertools.pairwise(starts))


@pytest.mark.parametrize(
    "text", ["CSR(unordered)", "csr( Unordered )", "(i, j) -> (i : dense, j : compressed(nonordered))"]
)
def test_the_name_is_that_of_a_level_that_is_not_ordered(text: str) -> None:
    assert ms.encoding(text) == ms.encoding(LOOSE)
    assert ms.encoding(str(ms.encoding(text))) == ms.encoding(LOOSE)
    assert not ms.encoding(LOOSE).is_ordered
    assert ms.encoding(LOOSE).is_unique
    assert ms.encoding(LOOSE).preset == LOOSE


@pytest.mark.parametrize("name", ["CSC", "DCSR", "CSF", "SparseVector"])
def test_other_lists_have_such_names_too(name: str) -> None:
    levels = ms.encoding(f"{name}(unordered)").level_types
    assert [kind.ordered for kind in levels] == [True] * (len(levels) - 1) + [False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BSR(unordered)", "dense levels, then compressed ones, such as CSR, but got BSR"),
        ("COO(unordered)", "or name UnorderedCOO"),
        ("Dense(unordered)", "but got Dense"),
        ("CSR(unordered, 2)", r"expected `\)` behind `unordered`"),
        ("CSR(unsorted)", "expected an integer"),
    ],
)
def test_what_has_no_such_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(ms.SparseError, match=message):
        ms.encoding(text)


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_products_have_the_same_entries_in_another_order(kind: Any) -> None:
    A, B = drawn(60, 50, 6, 1), drawn(50, 2000, 5, 2)
    tensors = {name: ms.tensor(one).astype(kind.numpy) for name, one in (("A", A), ("B", B))}
    loose = ms.evaluate(PRODUCT, tensors=tensors, out=LOOSE)
    ordered = ms.evaluate(PRODUCT, tensors=tensors, out="CSR")
    assert loose.dtype == ordered.dtype
    assert rows_of(loose) == rows_of(ordered)
    assert descends(loose)
    assert not descends(ordered)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("columns", "each"), [(40_000, 8), (300, 8), (40, 20)])
def test_threads_and_rows_of_all_lengths(threads: int, columns: int, each: int) -> None:
    """Few columns are met again and again, many hardly ever: rows come about in two ways."""
    A, B = drawn(9000, 9000, each, 3), drawn(9000, columns, each, 4)
    kernel = ms.compile(PRODUCT, A=ms.tensor(A), B=ms.tensor(B), out=LOOSE, threads=threads)
    expected = A @ B
    for _ in range(2):  # the second call knows how many entries the first had
        C = kernel(ms.tensor(A), ms.tensor(B))
        assert C.nse == expected.nnz
        assert abs(C.to_scipy() - expected).max() == 0
    # Where the structure is known, values alone are computed into it.
    A.data[:] = -A.data
    assert abs(kernel(ms.tensor(A), ms.tensor(B)).to_scipy() + expected).max() == 0


def test_numbers_that_are_not_finite_and_zeros_with_a_sign() -> None:
    A = scipy.sparse.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 3.0]]))
    B = scipy.sparse.csr_array((4, 90))[:3].tolil()
    B[0, 80], B[0, 3], B[1, 3], B[1, 1], B[2, 7] = np.inf, 1.0, -0.5, np.nan, 2.0
    B = scipy.sparse.csr_array(B)
    B.data[B.data == 2.0] = -0.0
    loose, ordered = rows_of(product(A, B)), rows_of(product(A, B, "CSR"))
    assert [row.keys() for row in loose] == [row.keys() for row in ordered]
    for one, other in zip(loose, ordered, strict=True):
        found, expected = (np.array([row[at] for at in sorted(row)]) for row in (one, other))
        assert found.tobytes() == expected.tobytes()
    assert loose[0][3] == 0.0, "what cancels stays an entry"


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 3, 2), (2, 0, 3), (3, 2, 0), (1, 1, 1), (5, 4, 3)])
def test_empty_operands_and_extents_of_0_and_1(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    for each in (0, 2):
        A, B = drawn(m, k, each, 1), drawn(k, n, each, 2)
        assert np.array_equal(product(A, B).to_numpy(), A.toarray() @ B.toarray())


@pytest.mark.parametrize("out", [LOOSE, "CSC(unordered)", "DCSR(unordered)"])
@pytest.mark.parametrize(
    "text",
    [
        PRODUCT,
        "x(i,p) = A(i,sum) * B(sum,p)",
        "C(i,j) = 2 * A(i,k) * B(k,j) + A(i,j)",
        "C(i,j) = A(i,j) + B(i,j)",
        "C(i,j) = A(i,j) * B(i,j)",
        "C(i,j) = A(j,i)",
        "C(i,j) = A(i,k) * B(k,l) * A(l,j)",
    ],
)
def test_statements_of_many_kinds(text: str, out: str) -> None:
    A, B = drawn(90, 90, 7, 5), drawn(90, 90, 9, 6)
    given = {"A": ms.tensor(A)} | ({"B": ms.tensor(B)} if "B" in text else {})
    found, expected = (ms.evaluate(text, tensors=given, out=one) for one in (out, "CSR"))
    assert found.encoding.with_widths(0, 0) == ms.encoding(out)
    assert np.array_equal(found.to_numpy(), expected.to_numpy())


def made() -> tuple[Any, Any]:
    """Returns a product in no order, and the same in SciPy."""
    A, B = drawn(70, 70, 5, 7), drawn(70, 70, 6, 8)
    C = product(A, B)
    assert descends(C)
    return C, A @ B


def test_scipy_is_told() -> None:
    C, expected = made()
    found = C.to_scipy()
    assert found.format == "csr"
    assert not found.has_sorted_indices
    before = rows_of(C)
    found.sort_indices()
    assert abs(found - expected).max() == 0
    assert rows_of(C) == before, "SciPy sorts a copy"


@pytest.mark.parametrize("to", ["CSR", "CSC", "DCSR", "COO", "UnorderedCOO", "BSR(2, 2)", "ELL", "DIA", LOOSE])
def test_conversions_sort_what_must_be(to: str) -> None:
    C, expected = made()
    found = C.convert(to)
    assert found.encoding.with_widths(0, 0) == ms.encoding(to)
    assert np.array_equal(found.to_numpy(), expected.toarray())
    if to == "CSR":
        assert not descends(found)


@pytest.mark.parametrize(
    "compute",
    [
        lambda C, x, S: C @ x,
        lambda C, x, S: C.T @ x,
        lambda C, x, S: (C @ C).sum(),
        lambda C, x, S: (C + S).toarray() if scipy.sparse.issparse(C) else (C + S).to_numpy(),
        lambda C, x, S: C.sum(axis=1),
        lambda C, x, S: C.max(axis=1).toarray().ravel() if scipy.sparse.issparse(C) else C.max(axis=1),
        lambda C, x, S: C[3, 5],
    ],
)
def test_operators_take_it(compute: Any) -> None:
    C, expected = made()
    x = np.arange(70.0)
    S = drawn(70, 70, 3, 9)
    assert np.array_equal(compute(C, x, ms.tensor(S)), compute(expected, x, S))


def test_it_is_an_operand_of_statements_lazy_expressions_and_einsum() -> None:
    C, expected = made()
    D = expected.toarray()
    assert np.array_equal(ms.evaluate("E(i,k) = C(i,j) * C(j,k)", C=C, out=LOOSE).to_numpy(), D @ D)
    assert np.array_equal(ms.einsum("ij,kj->ik", C, np.eye(70)), D)
    assert (ms.lazy(C) @ ms.lazy(C)).sum().compute() == (D @ D).sum()
    assert ms.evaluate("s = C(i,j) * C(j,k) * C(k,i)", C=C) == np.trace(D @ D @ D)


def test_saved_kernels_keep_it(tmp_path: Path) -> None:
    A, B = ms.tensor(drawn(70, 70, 5, 7)), ms.tensor(drawn(70, 70, 6, 8))
    kernel = ms.compile(PRODUCT, A=A, B=B, out=LOOSE)
    kernel.save(tmp_path / "p.msk")
    found = ms.load(tmp_path / "p.msk")(A, B)
    assert found.encoding == kernel(A, B).encoding
    assert rows_of(found) == rows_of(kernel(A, B))


def test_no_conversion_stands_behind_the_loops() -> None:
    A = ms.tensor(drawn(70, 70, 5, 7))
    text = ms.compile(PRODUCT, A=A, B=A, out=LOOSE).explain()
    assert "step 2" not in text
    assert "into C: f64[?,?] CSR(unordered)" in text


def test_linear_systems_sort_it() -> None:
    A = drawn(70, 70, 5, 7)
    A.data[:] = 0.01
    C = product(A, scipy.sparse.csr_array(A.T))
    S = (C + ms.tensor(scipy.sparse.csr_array(scipy.sparse.eye_array(70)))).convert(LOOSE)
    b = np.arange(70.0)
    assert np.allclose(ms.linalg.solve(S, b), scipy.sparse.linalg.spsolve(S.convert("CSR").to_scipy().tocsc(), b))


def test_calls_and_threads_give_one_order() -> None:
    A, B = ms.tensor(drawn(9000, 9000, 8, 3)), ms.tensor(drawn(9000, 40_000, 8, 4))
    seen = set()
    for threads in (1, 2, 3, 5):
        kernel = ms.compile(PRODUCT, A=A, B=B, out=LOOSE, threads=threads)
        seen |= {kernel(A, B).storage.coordinates[-1].tobytes() for _ in range(2)}
    assert len(seen) == 1
