"""Statements on `dask.array`s that are cut along several variables at once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from mlir_sparse.plan.composed_cuts import compose

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

_RANDOM = np.random.default_rng(11)
D = np.where(_RANDOM.random((60, 45)) < 0.1, _RANDOM.integers(-4, 5, (60, 45)), 0).astype(float)
E = np.where(_RANDOM.random((45, 30)) < 0.2, _RANDOM.integers(-4, 5, (45, 30)), 0).astype(float)
T = np.where(_RANDOM.random((12, 10, 8)) < 0.1, _RANDOM.integers(1, 5, (12, 10, 8)), 0).astype(float)
x, z = _RANDOM.integers(-4, 5, 45).astype(float), _RANDOM.integers(-4, 5, 60).astype(float)

# The statement, the operands that come in chunks along all their dimensions, the other operands, and the result.
STATEMENTS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "y(i) = A(i,j) * x(j)": ({"A": D}, {"x": x}, D @ x),
    "y(j) = A(i,j) * z(i)": ({"A": D}, {"z": z}, z @ D),
    "s = A(i,j)": ({"A": D}, {}, D.sum()),
    "C(i,k) = A(i,j) * B(j,k)": ({"A": D, "B": E}, {}, D @ E),
    "m(j) = max(i : A(i,j))": ({"A": D}, {}, D.max(axis=0)),
    "Z(i,j) = A(i,j) + F(i,j)": ({"A": D}, {"F": 2 * D}, 3 * D),
    "R(i,r) = T(i,j,k) * P(j,r) * Q(k,r)": (
        {"T": T},
        {"P": np.ones((10, 3)), "Q": np.arange(24.0).reshape(8, 3)},
        np.einsum("ijk,jr,kr->ir", T, np.ones((10, 3)), np.arange(24.0).reshape(8, 3)),
    ),
    "r(i) = z(i) - A(i,j) * x(j)": ({"A": D}, {"x": x, "z": z}, z - D @ x),
}


def _in_chunks(dense: np.ndarray, storage: str, count: int) -> Any:
    return msd.from_tensor(ms.tensor(dense, storage if dense.ndim == 2 else "CSF"), pieces=(count,) * dense.ndim)


@pytest.mark.parametrize(("storage", "count"), [("CSR", 3), ("CSC", 2), ("COO", 10), ("DCSR", 2), ("BSR(4, 3)", 4)])
@pytest.mark.parametrize("text", STATEMENTS)
def test_any_cuts_at_once_give_the_whole(text: str, storage: str, count: int) -> None:
    chunked, others, wanted = STATEMENTS[text]
    operands = {name: _in_chunks(dense, storage, count) for name, dense in chunked.items()} | others
    found = msd.evaluate(text, **operands)
    assert found.shape == np.shape(wanted)
    np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), wanted)
    statement = ms.parse(text)
    assert isinstance(statement, ms.Assignment)
    for variables in itertools.combinations("ijk", 2):
        if (
            set(variables) <= {str(one) for one in _variables(statement)}
            and compose(statement, variables).__class__ is not str
        ):
            found = msd.evaluate(text, along=variables, **operands)
            assert found.shape == np.shape(wanted)
            np.testing.assert_array_equal(as_array(found.compute(scheduler="synchronous")), wanted)


def _variables(statement: ms.Assignment) -> list[Any]:
    from mlir_sparse.notation import reads

    return [index for access in reads(statement.value) for index in access.indices]


def test_results_keep_the_grid_of_chunks() -> None:
    A, B = msd.from_tensor(ms.tensor(D), pieces=(3, 2)), msd.from_tensor(ms.tensor(E), pieces=(2, 4))
    told = msd.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    assert "then along" in told
    product = msd.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, along=("i", "j", "k"))
    assert product.numblocks == (3, 4)
    assert all(isinstance(product.blocks[0, n].compute(scheduler="synchronous"), ms.SparseTensor) for n in range(4))
    np.testing.assert_array_equal(as_array(product.compute(scheduler="threads")), D @ E)
    again = msd.evaluate("y(i) = C(i,k) * w(k)", C=product, w=np.ones(30))
    np.testing.assert_array_equal(again.compute(scheduler="synchronous"), D @ E @ np.ones(30))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (5, 1)])
def test_more_pieces_than_rows_and_none_at_all(shape: tuple[int, int]) -> None:
    dense = np.ones(shape)
    A = msd.from_tensor(ms.tensor(dense, "CSR"), pieces=(3, 3))
    np.testing.assert_array_equal(as_array(A.compute(scheduler="synchronous")), dense)
    found = msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(shape[1]))
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), dense.sum(axis=1))


def test_a_semiring_and_a_monoid_of_a_users_own_are_combined_along_several_cuts() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=(4, 3))
    found = msd.evaluate("d(j) = A(i,j) * z(i)", A=A, z=z, semiring="min_plus", along=("i", "j"))
    whole = ms.evaluate("d(j) = A(i,j) * z(i)", A=ms.tensor(D), z=z, semiring="min_plus")
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), whole)
    longest = ms.monoid(lambda a, b: ms.where(abs(a) > abs(b), a, b), 0.0)
    found = msd.evaluate("m = f(i, j : A(i,j))", f=longest, A=A, along=["j", "i"])
    assert abs(float(found.compute(scheduler="synchronous"))) == np.abs(D).max()


def test_chunks_have_about_as_many_entries_along_both_dimensions() -> None:
    skewed = np.zeros((1000, 200))
    skewed[:100, :40] = 1
    skewed[np.arange(1000), np.arange(1000) % 200] = 1
    A = msd.from_tensor(ms.tensor(skewed, "CSR"), pieces=(4, 4))
    assert A.numblocks == (4, 4)
    rows = np.diff([0, *np.cumsum(A.chunks[0])])
    assert rows[0] < 50


def test_what_cannot_be_cut_so_is_refused_with_the_variable() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=(2, 2))
    with pytest.raises(ms.UnsupportedError, match=r"z\(i\) lacks j"):
        msd.evaluate("r(i) = z(i) - A(i,j) * x(j)", A=A, x=x, z=z, along=("i", "j"))
    with pytest.raises(ms.UnsupportedError, match="expected one of the variables i, j to cut along, but got q"):
        msd.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, along=("i", "q"))
    with pytest.raises(ms.OperandError, match=r"a number of pieces for each of 2 dimensions"):
        msd.from_tensor(ms.tensor(D), pieces=(2, 2, 2))
    with pytest.raises(ms.OperandError, match="one piece or more"):
        msd.from_tensor(ms.tensor(D), pieces=(2, 0))


def test_a_result_whose_extent_no_operand_gives_is_refused() -> None:
    A = msd.from_tensor(ms.tensor(D), pieces=2)
    with pytest.raises(ms.UnsupportedError, match="expected an operand with k among its subscripts"):
        msd.evaluate("y(i,k) = A(i,j) * z(j)", A=A, z=np.ones(45))


def test_a_result_has_the_extent_that_a_sum_of_variables_gives() -> None:
    text, z = "y(i,k) = A(i,j) * z(2*k + j)", np.arange(100.0)
    found = msd.evaluate(text, A=msd.from_tensor(ms.tensor(D), pieces=2), z=z)
    assert found.shape == (60, 28)
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), ms.evaluate(text, A=ms.tensor(D), z=z))
