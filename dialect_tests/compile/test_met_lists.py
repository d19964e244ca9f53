"""Tensors whose outermost level is a list, inside of loops over another: they are converted where that takes less."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from mlir_sparse.compile import entered_lists
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import parse
from mlir_sparse.plan.met_lists import met_lists
from mlir_sparse.spec import KernelSpec

STORAGES = ("COO", "DCSR", "CSR", "CSC", "DCSC")
PRODUCT = "C(i,k) = A(i,j) * B(j,k)"


def matrices(rows: int, entries: int, columns: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    draw = np.random.default_rng(rows)
    made = (sp.random_array((rows, columns or rows), density=entries / rows, format="csr", rng=draw) for _ in "AB")
    one, other = made
    return one, other


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the names of the tensors that calls convert."""
    names: list[str] = []
    own = entered_lists._is_worth

    def seen(met: entered_lists.MetList, *tensors: ms.SparseTensor) -> bool:
        found = own(met, *tensors)
        names.extend([met.tensor] if found else [])
        return found

    monkeypatch.setattr(entered_lists, "_is_worth", seen)
    return names


@pytest.mark.parametrize(("one", "other"), list(itertools.product(STORAGES, STORAGES)))
def test_products_are_right_and_meet_no_list_of_many(one: str, other: str, converted: list[str]) -> None:
    S, T = matrices(700, 4)
    A, B = ms.tensor(S, one), ms.tensor(T, other)
    found = ms.evaluate(PRODUCT, A=A, B=B, out="CSR")
    assert abs(found.to_scipy() - S @ T).max() < 1e-12
    # Columns of A are turned into rows, as the result is stored; then they come to the list of B as rows do.
    assert (converted == ["B"]) == (other in ("COO", "DCSR"))
    assert found.nse == (S @ T).nnz


@pytest.mark.parametrize(
    ("text", "kinds", "met"),
    [
        (PRODUCT, ("DCSR", "COO"), ["B"]),
        (PRODUCT, ("CSR", "COO"), ["B"]),
        (PRODUCT, ("COO", "CSR"), []),
        (PRODUCT, ("DCSC", "DCSC"), ["A"]),
        ("C(i,j) = A(i,j) * B(i,j)", ("DCSR", "COO"), []),
        ("C(i,j) = A(i,j) + B(i,j)", ("DCSR", "COO"), []),
        ("s = A(i,j) * B(j,i)", ("COO", "DCSR"), []),
        ("y(i) = A(i,j) + B(j,k)", ("DCSR", "DCSR"), []),
        ("y(i) = A(i,j) * (B(j,k) + B(k,j))", ("DCSR", "DCSR"), ["B"]),
        ("y(i) = max(j, k : A(i,j) * B(j,k))", ("COO", "COO"), ["B"]),
        ("y(i) = A(i,j) * A(j,k)", ("COO", "COO"), ["A"]),
    ],
)
def test_which_lists_loops_meet(text: str, kinds: tuple[str, str], met: list[str]) -> None:
    assignment = parse(text)
    types = tuple((name, TensorType.parse(f"f64[?,?] {kind}")) for name, kind in zip("AB", kinds, strict=False))
    types = tuple(each for each in types if each[0] in assignment.inputs)
    output = TensorType.parse(f"f64[{','.join('?' * len(assignment.target.subscripts))}]")
    assert sorted(one.tensor for one in met_lists(KernelSpec(assignment, types, output))) == met


@pytest.mark.parametrize(
    ("kinds", "result", "met"),
    [
        (("CSC", "DCSR"), "CSR", ["B"]),
        (("DCSC", "COO"), "CSR", ["B"]),
        (("CSC", "CSR"), "CSR", []),
        (("COO", "DCSC"), "CSC", []),
        (("DCSR", "CSC"), "CSC", []),
    ],
)
def test_which_lists_are_met_by_loops_over_what_the_plan_turns(
    kinds: tuple[str, str], result: str, met: list[str]
) -> None:
    types = tuple((name, TensorType("f64", (None, None), kind)) for name, kind in zip("AB", kinds, strict=True))
    found = met_lists(KernelSpec(parse(PRODUCT), types, TensorType("f64", (None, None), result)))
    assert [one.tensor for one in found] == met
    assert all(one.level is None for one in found)


def test_small_calls_convert_nothing_and_their_fast_path_is_not_taken_for_large_ones(converted: list[str]) -> None:
    small, large = matrices(20, 2), matrices(700, 4)
    kernel = ms.compile(PRODUCT, A="f64[?,?] COO", B="f64[?,?] COO", out="CSR")
    for S, T in (small, small, large, large, small, large):
        A, B = ms.tensor(S, "COO"), ms.tensor(T, "COO")
        converted.clear()
        assert abs(kernel(A, B).to_scipy() - S @ T).max() < 1e-12
        assert converted == (["B"] if (S, T) is large or S.shape[0] > 20 else [])


@pytest.mark.parametrize("storage", ["DCSR", "COO"])
def test_a_list_is_kept_where_a_dense_level_has_no_room(
    storage: str, converted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entered_lists, "available_bytes", lambda: 0)
    S, T = matrices(700, 4)
    found = ms.evaluate(PRODUCT, A=ms.tensor(S, storage), B=ms.tensor(T, storage), out="CSR")
    assert abs(found.to_scipy() - S @ T).max() < 1e-12
    assert converted == []


def test_tensors_of_three_dimensions() -> None:
    draw = np.random.default_rng(0)
    T = np.where(draw.random((90, 40, 30)) < 0.1, draw.random((90, 40, 30)), 0)
    A = sp.random_array((200, 90), density=0.1, format="csr", rng=draw)
    expected = np.einsum("ij,jkl->ik", A.toarray(), T)
    for storage in ("COO", "CSF"):
        operands = {"A": ms.tensor(A, "DCSR"), "T": ms.tensor(T, storage)}
        found = ms.evaluate("y(i,k) = A(i,j) * T(j,k,l)", **operands, optimize="off")
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_readers_are_told() -> None:
    S, T = matrices(700, 4)
    A, B = ms.tensor(S, "CSR"), ms.tensor(T, "DCSR")
    kernel = ms.compile(PRODUCT, A=A, B=B, out="CSR")
    told = kernel.explain(A=A, B=B)
    assert "B is converted to (i, j) -> (i : dense, j : compressed) first: loops would meet its" in told
    assert "lists" not in kernel.explain(A=A, B=ms.tensor(T[:, :0], "DCSR"))


def test_structures_are_computed_apart_and_kernels_are_pickled() -> None:
    import pickle

    S, T = matrices(700, 4)
    A, B = ms.tensor(S, "COO"), ms.tensor(T, "COO")
    kernel = ms.compile(PRODUCT, A=A, B=B, out="CSR")
    C = kernel.assemble(A, B)
    kernel.compute(A, B, out=C)
    assert abs(C.to_scipy() - S @ T).max() < 1e-12
    assert abs(pickle.loads(pickle.dumps(kernel))(A, B).to_scipy() - S @ T).max() < 1e-12
