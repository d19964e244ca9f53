"""Conjugate gradients beside SciPy's: iterates, what is returned, and what ends an iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import mlir_sparse as ms
from dialect_tests.linalg.test_solvers import grid
from mlir_sparse import _native

RNG = np.random.default_rng(7)


S = grid(12)
B = RNG.random(144)
TYPES = ("float32", "float64", "complex64", "complex128")


def hermitian(dtype: str, n: int = 60) -> Any:
    """Returns a sparse, positive definite matrix; of complex types with a phase on each entry off the diagonal."""
    found = sp.random_array((n, n), density=0.05, rng=RNG, format="csr").astype(dtype)
    if np.dtype(dtype).kind == "c":
        found.data *= np.exp(1j * RNG.random(found.nnz))
    return sp.csr_array(found + found.conj().T + 12 * sp.eye_array(n)).astype(dtype)


def both(A: Any, matrix: Any, b: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    """Returns the iterates of ours and SciPy's solver, the result and the code last."""
    found: list[Any] = []
    wanted: list[Any] = []
    x, code = ms.linalg.cg(A, b, callback=lambda v: found.append(v.copy()), **options)
    y, other = sl.cg(matrix, b, callback=lambda v: wanted.append(v.copy()), **options)
    return [*found, x, code], [*wanted, y, other]


def assert_equal_iterates(found: list[Any], wanted: list[Any], rtol: float) -> None:
    assert len(found) == len(wanted)
    assert found[-1] == wanted[-1]
    for ours, theirs in zip(found[:-1], wanted[:-1], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR", "DIA", "BSR", "dense"])
def test_iterates_of_each_storage(storage: str) -> None:
    A = ms.tensor(S, storage, **({"block": (3, 3)} if storage == "BSR" else {})) if storage != "dense" else S.toarray()
    assert_equal_iterates(*both(A, S, B), rtol=1e-9)


@pytest.mark.parametrize("dtype", TYPES)
def test_iterates_of_each_type(dtype: str) -> None:
    matrix = hermitian(dtype)
    b = (RNG.random(60) - (0.5j if matrix.dtype.kind == "c" else 0)).astype(dtype)
    assert_equal_iterates(*both(ms.tensor(matrix), matrix, b, maxiter=6), rtol=1e-4 if dtype[-2:] != "28" else 1e-10)


def test_mixed_types() -> None:
    matrix = hermitian("complex128")
    assert_equal_iterates(*both(ms.tensor(matrix), matrix, np.arange(60)), rtol=1e-9)
    integers = sp.csr_array(S.astype(np.int64))
    assert_equal_iterates(*both(ms.tensor(integers), integers, B), rtol=1e-9)
    narrow = S.astype(np.float32)
    assert ms.linalg.cg(ms.tensor(narrow), B)[0].dtype == np.float64
    assert_equal_iterates(*both(ms.tensor(narrow), narrow, B), rtol=1e-9)


def test_preconditioners() -> None:
    A, diagonal = ms.tensor(S), sp.diags_array(1 / np.linspace(4.0, 5.0, 144)).tocsr()
    factor = ms.linalg.IC0(A)
    operator = sl.LinearOperator(S.shape, matvec=lambda v: v / 4.0, dtype=np.float64)
    for ours, theirs in (
        (factor, factor),
        (ms.linalg.Jacobi(A), ms.linalg.Jacobi(A)),
        (ms.tensor(diagonal), diagonal),
        (diagonal, diagonal),
        (operator, operator),
        (sl.aslinearoperator(sp.eye_array(144)), None),
    ):
        found: list[Any] = []
        wanted: list[Any] = []
        x, code = ms.linalg.cg(A, B, M=ours, callback=lambda v, to=found: to.append(v.copy()))
        y, other = sl.cg(S, B, M=theirs, callback=lambda v, to=wanted: to.append(v.copy()))
        assert_equal_iterates([*found, x, code], [*wanted, y, other], rtol=1e-9)


def test_start_and_shapes() -> None:
    A, start = ms.tensor(S), RNG.random(144)
    kept = start.copy(), B.copy()
    assert_equal_iterates(*both(A, S, B, x0=start), rtol=1e-9)
    assert_equal_iterates(*both(A, S, B[:, None], x0=start[:, None]), rtol=1e-9)
    np.testing.assert_array_equal(start, kept[0])
    np.testing.assert_array_equal(B, kept[1])
    strided = np.repeat(B, 2)[::2]
    np.testing.assert_array_equal(ms.linalg.cg(A, strided)[0], ms.linalg.cg(A, B)[0])
    exact = ms.linalg.cg(A, S @ np.ones(144), x0=np.ones(144), rtol=0)
    assert exact[1] == 0  # a residual of zero is below any bound
    np.testing.assert_array_equal(exact[0], np.ones(144))


def test_linear_operators() -> None:
    operator = sl.aslinearoperator(S)
    assert_equal_iterates(*both(operator, S, B), rtol=1e-9)
    columns = sl.LinearOperator(S.shape, matvec=lambda v: (S @ v)[:, None].astype(np.float32), dtype=np.float64)
    assert ms.linalg.cg(columns, B)[1] == 0
    wrong = type("Wrong", (), {"shape": (144, 144), "dtype": np.dtype("f8"), "matvec": lambda self, v: v[:-1]})()
    with pytest.raises(ms.ExtentError, match="a vector of 144 elements from the matrix"):
        ms.linalg.cg(wrong, B)


def test_codes() -> None:
    A = ms.tensor(S)
    found, wanted = both(A, S, B, maxiter=3)
    assert_equal_iterates(found, wanted, rtol=1e-9)
    assert found[-1] == 3
    x, code = ms.linalg.cg(A, np.zeros(144), x0=B)
    assert (x.tolist(), code) == ([0.0] * 144, 0)
    loose, code = ms.linalg.cg(A, B, rtol=0, atol=1e3)
    assert (loose.tolist(), code) == ([0.0] * 144, 0)
    empty, code = ms.linalg.cg(ms.tensor(sp.csr_array((0, 0))), np.zeros(0))
    assert (empty.shape, code) == ((0,), 0)


def test_breakdowns() -> None:
    # The direction has no curvature: the first step is not taken.
    x, code = ms.linalg.cg(ms.tensor([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    assert (x.tolist(), code) == ([0.0, 0.0], -1)
    x, code = ms.linalg.cg(ms.tensor(S), B, M=ms.tensor(sp.csr_array((144, 144))))
    assert (x.tolist(), code) == ([0.0] * 144, -1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_data_that_is_not_finite(bad: float) -> None:
    side = B.copy()
    side[5] = bad
    x, code = ms.linalg.cg(ms.tensor(S), side)
    assert (x.tolist(), code) == ([0.0] * 144, -1)
    values = S.copy()
    values.data[7] = bad
    x, code = ms.linalg.cg(ms.tensor(values), B)
    assert (x.tolist(), code) == ([0.0] * 144, -1)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e160, 1e300])
def test_squares_out_of_range_are_no_solution(scale: float) -> None:
    x, code = ms.linalg.cg(ms.tensor(S), B * scale)
    assert (x.tolist(), code) == ([0.0] * 144, -1)
    x, code = ms.linalg.cg(ms.tensor(S), B * scale, x0=B)
    assert (x.tolist(), code) == (B.tolist(), -1)


def test_a_small_right_side_is_within_an_absolute_bound() -> None:
    x, code = ms.linalg.cg(ms.tensor(S), B * 1e-200, atol=1e-3)
    assert (x.tolist(), code) == ([0.0] * 144, 0)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_squares_near_the_ends_of_the_range(scale: float) -> None:
    x, code = ms.linalg.cg(ms.tensor(S), B * scale)
    assert code == 0
    np.testing.assert_allclose(x / scale, ms.linalg.cg(ms.tensor(S), B)[0], rtol=1e-12)


def test_results_do_not_depend_on_threads() -> None:
    large = grid(300)  # vectors of 90,000 elements are for several threads
    A, b = ms.tensor(large), RNG.random(90_000)
    before = ms.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3, 2):
            ms.set_num_threads(threads)
            found.append(ms.linalg.cg(A, b, maxiter=20)[0])
    finally:
        ms.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    np.testing.assert_allclose(found[0], sl.cg(large, b, maxiter=20)[0], rtol=1e-8, atol=1e-10)


def test_refusals() -> None:
    A = ms.tensor(S)
    with pytest.raises(ms.ExtentError, match="square"):
        ms.linalg.cg(ms.tensor(np.ones((3, 4))), np.ones(3))
    with pytest.raises(ms.ExtentError, match="144 rows"):
        ms.linalg.cg(A, np.ones(143))
    with pytest.raises(ms.ExtentError, match="a preconditioner of 144 rows"):
        ms.linalg.cg(A, B, M=ms.tensor(np.eye(3)))
    with pytest.raises(ms.ExtentError, match="144 rows"):
        ms.linalg.cg(A, B, x0=np.ones(3))
    with pytest.raises(ms.RankError, match="one right side"):
        ms.linalg.cg(A, np.ones((144, 2)))
    with pytest.raises(ms.OperandError, match="dense right sides"):
        ms.linalg.cg(A, ms.tensor(B))
    with pytest.raises(ms.DTypeError, match="a real type for x0"):
        ms.linalg.cg(A, B, x0=B + 1j)
    with pytest.raises(ms.DTypeError, match="a real type for the preconditioner"):
        ms.linalg.cg(A, B, M=ms.tensor(np.eye(144) * 1j))
    for options in ({"maxiter": 0}, {"maxiter": 2.5}, {"rtol": -1.0}, {"rtol": np.nan}, {"atol": -1e-9}):
        with pytest.raises(ms.SettingError, match="expected a number"):
            ms.linalg.cg(A, B, **options)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 4095, 4097, 70_001])
def test_steps_on_vectors(dtype: str, size: int) -> None:
    def vector() -> Any:
        return (RNG.random(size) - 0.5 + (1j * RNG.random(size) if dtype[0] == "c" else 0)).astype(dtype)

    x, r, p, q = (vector() for _ in range(4))
    step = 0.25 - (0.5j if dtype[0] == "c" else 0)
    wanted_x, wanted_r, wanted_p = x + p.dtype.type(step) * p, r - p.dtype.type(step) * q, q + p.dtype.type(step) * p
    rtol = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(_native.inner_product(p, q), np.vdot(p, q), rtol=rtol, atol=rtol * max(size, 1))
    squared = _native.advance(x, r, p, q, step)
    _native.turn_direction(p, q, step)
    for found, wanted in ((x, wanted_x), (r, wanted_r), (p, wanted_p), (squared, np.vdot(r, r).real)):
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


def test_steps_refuse_vectors_that_differ() -> None:
    a = np.ones(4)
    for b in (np.ones(5), np.ones(4, np.float32), np.ones(8)[::2], np.ones((4, 1))):
        with pytest.raises(ValueError, match="contiguous vectors of one size and type"):
            _native.inner_product(a, b)
        with pytest.raises(ValueError, match="contiguous vectors of one size and type"):
            _native.turn_direction(a, b, 1.0)
