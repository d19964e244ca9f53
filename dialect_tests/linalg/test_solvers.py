"""Preconditioners, direct solvers, and SciPy's solvers on tensors."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import mlir_sparse as ms
from mlir_sparse.linalg.linear_map import LinearMap

RNG = np.random.default_rng(21)


def grid(n: int) -> Any:
    """Returns the matrix of a 5-point grid."""
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


S = grid(12)
B = RNG.random(144)
STORAGES = ("CSR", "CSC", "COO", "DCSR", "DIA", "BSR")


def stored(storage: str) -> ms.SparseTensor:
    return ms.tensor(S, storage, **({"block": (3, 3)} if storage == "BSR" else {}))


@pytest.mark.parametrize("storage", STORAGES)
def test_operators(storage: str) -> None:
    A = stored(storage)
    X = RNG.random((144, 3))
    for found, wanted in (
        (A.matvec(B), S @ B),
        (A.matvec(X[:, :1]), S @ X[:, :1]),
        (A.rmatvec(B), S.T @ B),
        (A.rmatvec(X[:, :1]), S.T @ X[:, :1]),
        (A.matmat(X), S @ X),
        (A.rmatmat(X), S.T @ X),
    ):
        np.testing.assert_allclose(found, wanted)
        assert found.shape == wanted.shape


def test_adjoints_of_complex_matrices_that_are_not_square() -> None:
    dense = RNG.random((5, 3)) + 1j * RNG.random((5, 3))
    A, x, X = ms.tensor(dense), RNG.random(5) + 1j, RNG.random((5, 2)) - 1j
    np.testing.assert_allclose(A.rmatvec(x), dense.conj().T @ x)
    np.testing.assert_allclose(A.rmatmat(X), dense.conj().T @ X)
    with pytest.raises(ms.RankError, match="a matrix as a linear operator"):
        ms.tensor(np.ones(3)).matvec(np.ones(3))


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "cg": lambda A: sl.cg(A, B, rtol=1e-10)[0],
    "gmres": lambda A: sl.gmres(A, B, rtol=1e-10)[0],
    "bicgstab": lambda A: sl.bicgstab(A, B, rtol=1e-10)[0],
    "minres": lambda A: sl.minres(A, B, rtol=1e-10)[0],
    "lsqr": lambda A: sl.lsqr(A, B)[0],
    "lsmr": lambda A: sl.lsmr(A, B)[0],
    "eigsh": lambda A: sl.eigsh(A, k=3, return_eigenvectors=False, v0=B),
    "eigs": lambda A: sl.eigs(A, k=2, return_eigenvectors=False, v0=B),
    "svds": lambda A: sl.svds(A, k=3, return_singular_vectors=False, v0=B),
    "expm_multiply": lambda A: sl.expm_multiply(A, B),
    "expm_multiply at times": lambda A: sl.expm_multiply(A, B, start=0, stop=1, num=3),
    "expm_multiply of an operator": lambda A: sl.expm_multiply(sl.aslinearoperator(A), B, traceA=A.trace()),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("storage", ["CSR", "BSR"])
def test_scipys_solvers_take_tensors(name: str, storage: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ms.DenseCopyWarning)
        found = SOLVERS[name](stored(storage))
    np.testing.assert_allclose(found, SOLVERS[name](S), rtol=1e-5, atol=1e-7)


PRECONDITIONERS: dict[str, Callable[[Any], Any]] = {
    "ILU0": ms.linalg.ILU0,
    "IC0": ms.linalg.IC0,
    "Jacobi": ms.linalg.Jacobi,
    "superlu": ms.linalg.factorized,
}


@pytest.mark.parametrize("name", PRECONDITIONERS)
@pytest.mark.parametrize("storage", STORAGES)
def test_preconditioners(name: str, storage: str) -> None:
    M = PRECONDITIONERS[name](stored(storage))
    counts = {"plain": 0, "with": 0}

    def counted(key: str) -> Callable[[Any], None]:
        def count(_: Any) -> None:
            counts[key] += 1

        return count

    plain, _ = sl.cg(S, B, rtol=1e-9, callback=counted("plain"))
    found, failed = sl.cg(stored(storage), B, rtol=1e-9, M=M, callback=counted("with"))
    assert failed == 0
    np.testing.assert_allclose(found, plain, rtol=1e-6)
    assert counts["with"] <= counts["plain"] * (1 if name == "Jacobi" else 0.7)


@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_pickles_copies_and_adjoints(name: str) -> None:
    line = sp.diags_array([np.ones(9), 3j * np.ones(10) + 4, -1j * np.ones(9)], offsets=[-1, 0, 1])
    matrix = ms.tensor(line, "CSR") if name != "IC0" else ms.tensor(line @ line.conj().T, "CSR")
    M = PRECONDITIONERS[name](matrix)
    x, y = RNG.random(10) + 1j, RNG.random(10) - 2j
    for other in (pickle.loads(pickle.dumps(M)), copy.copy(M), copy.deepcopy(M)):
        np.testing.assert_allclose(other.solve(x), M.solve(x), rtol=1e-12)
        assert repr(other) == repr(M)
    assert np.vdot(y, M.matvec(x)) == pytest.approx(np.vdot(M.rmatvec(y), x))
    many = np.stack([x, y], axis=1)
    np.testing.assert_allclose(M.matmat(many)[:, 1], M @ y, rtol=1e-12)
    assert M.rmatmat(many).shape == many.shape
    assert M.solve(np.ones(10, "f4")).dtype == np.complex128


def test_incomplete_factors_are_exact_where_nothing_fills_in() -> None:
    dense = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    for M in (ms.linalg.ILU0(dense), ms.linalg.IC0(dense)):
        np.testing.assert_allclose(dense @ M.solve(np.arange(3.0)), np.arange(3.0), atol=1e-15)
    L = ms.linalg.IC0(dense).factor.to_numpy()
    np.testing.assert_allclose(L, np.linalg.cholesky(dense))
    factors = ms.linalg.ILU0(dense).factors.to_numpy()
    np.testing.assert_allclose((np.tril(factors, -1) + np.eye(3)) @ np.triu(factors), dense)


def test_ilu_on_a_structure_that_drops_fill() -> None:
    """Against the definition: L U agrees with A on the structure of A."""
    dense = np.diag(np.full(30, 9.0)) + RNG.integers(-1, 2, (30, 30)) * (RNG.random((30, 30)) < 0.15)
    factors = ms.linalg.ILU0(dense).factors.to_numpy()
    product = (np.tril(factors, -1) + np.eye(30)) @ np.triu(factors)
    np.testing.assert_allclose(product[dense != 0], dense[dense != 0], atol=1e-13)
    assert not np.allclose(product, dense)


def test_values_written_later_do_not_change_factors() -> None:
    A = ms.tensor(np.diag([2.0, 4.0]))
    made = [make(A) for make in PRECONDITIONERS.values()]
    A.storage.values[:] = 0
    for M in made:
        np.testing.assert_allclose(M.solve(np.ones(2)), [0.5, 0.25])


def test_pivots_that_are_missing_name_the_row() -> None:
    A = ms.tensor(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]))
    with pytest.raises(ms.SingularMatrixError, match=r"ILU\(0\), but got none in row 1"):
        ms.linalg.ILU0(A)
    with pytest.raises(ms.SingularMatrixError, match=r"positive pivot for IC\(0\), but got none in row 1"):
        ms.linalg.IC0(A)
    with pytest.raises(ms.SingularMatrixError, match="one at row 2"):
        ms.linalg.Jacobi(np.diag([1.0, 2.0, 0.0]))
    for make in (ms.linalg.ILU0, ms.linalg.IC0):
        with pytest.raises(ms.SingularMatrixError, match="row 0"):
            make(np.array([[0.0, 1], [1, 0]]))
    with pytest.raises(ms.SingularMatrixError, match="row 0"):
        ms.linalg.IC0(np.array([[np.nan]]))


def test_direct_solvers() -> None:
    b = RNG.random((144, 2))
    np.testing.assert_allclose(S @ ms.linalg.solve(stored("BSR"), b), b, atol=1e-12)
    np.testing.assert_allclose(S @ ms.linalg.solve(stored("CSR"), b + 1j), b + 1j, atol=1e-12)
    with pytest.raises(ms.SingularMatrixError, match="SuperLU"):
        ms.linalg.solve(np.array([[1.0, 1], [1, 1]]), np.ones(2))
    with pytest.raises(ms.OperandError, match="one of superlu, umfpack, pardiso as a method, but got 'lu'"):
        ms.linalg.solve(stored("CSR"), B, "lu")
    with pytest.raises(ms.ExtentError, match="a row or more"):
        ms.linalg.solve(ms.tensor(([[], []], []), "CSR", shape=(0, 0)), np.ones(0))


@pytest.mark.parametrize(("method", "module"), [("umfpack", "scikits"), ("pardiso", "pypardiso")])
def test_direct_solvers_of_packages(method: str, module: str) -> None:
    if importlib.util.find_spec(module) is None:
        with pytest.raises(ms.MissingPackageError, match="pip install"):
            ms.linalg.solve(S, B, method)
        return
    np.testing.assert_allclose(S @ ms.linalg.solve(S, B, method), B, atol=1e-10)


def test_factors_that_nobody_has() -> None:
    class Opaque:
        shape = (3, 3)

    with pytest.raises(ms.OperandError):
        ms.linalg.ILU0(Opaque())


def test_systems_are_solved_in_the_precision_of_matrix_and_sides() -> None:
    narrow = ms.tensor(S.astype(np.float32))
    for b in (B, B * 1e200, B * (1 + 2j)):
        found = ms.linalg.solve(narrow, b)
        assert found.dtype == b.dtype
        np.testing.assert_allclose(S @ found, b, rtol=1e-12, atol=1e-13 * abs(b).max())
    assert ms.linalg.solve(narrow, B.astype(np.float32)).dtype == np.float32


def test_what_every_map_has_is_no_map_by_itself() -> None:
    with pytest.raises(TypeError, match="abstract"):
        LinearMap(3, np.dtype("f8"))  # type: ignore[abstract]
