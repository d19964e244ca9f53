"""Short products of arrays in programs: in native calls, or by NumPy, told once how many threads to take."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.runtime import blas_threads, run_steps

RNG = np.random.default_rng(0)
LOSS = "s = sum(i, j : (R(i,j) - sum(k : P(i,k) * Q(j,k))) ** 2)"
CHAIN = "y(i) = U(i,k) * V(j,k) * W(j,l) * x(l)"


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return RNG.integers(-3, 4, shape).astype(dtype)


def rated(rows: int, columns: int, rank: int, dtype: str = "float64") -> dict[str, Any]:
    entries = drawn(rows, columns, dtype=dtype) * (RNG.random((rows, columns)) < 0.02)
    R = ms.tensor(entries.astype(dtype), "CSR")
    return {"R": R, "P": drawn(rows, rank, dtype=dtype), "Q": drawn(columns, rank, dtype=dtype)}


def loss_of(given: dict[str, Any]) -> Any:
    return ((given["R"].to_numpy() - given["P"] @ given["Q"].T) ** 2).sum()


def chained(rows: int, columns: int, inner: int, last: int, dtype: str = "float64") -> dict[str, Any]:
    shapes = {"U": (rows, inner), "V": (columns, inner), "W": (columns, last), "x": (last,)}
    return {name: drawn(*shape, dtype=dtype) for name, shape in shapes.items()}


def chain_of(given: dict[str, Any]) -> Any:
    return given["U"] @ (given["V"].T @ (given["W"] @ given["x"]))


@pytest.fixture(params=["native", "by NumPy"])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether native code calls BLAS, where that is known how; else NumPy does."""
    if request.param == "by NumPy":
        monkeypatch.setattr(run_steps, "native_program", lambda *_: None)
    elif blas_threads._product_functions("d") is None:
        pytest.skip("this NumPy has a BLAS whose functions are not known")
    return bool(request.param == "native")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of products that BLAS ran for one look at its threads."""
    if blas_threads._controls() is None:
        pytest.skip("this NumPy has a BLAS without known controls")
    monkeypatch.setattr(run_steps, "native_program", lambda *_: None)
    found: list[int] = []
    run = blas_threads.multiply_on_one_thread

    def watched(products: Any, values: Any) -> None:
        found.append(len(products))
        run(products, values)

    monkeypatch.setattr("mlir_sparse.runtime.multiply_arrays.multiply_on_one_thread", watched)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_later_steps_read_each_of_them(asked: list[int], dtype: str) -> None:
    given = rated(700, 600, 16, dtype)
    loss = ms.compile(LOSS, **given, optimize="algebra")
    assert loss.explain(**given).count("by BLAS: ") == 2
    for _ in range(3):  # the first call of a kernel takes another way than later ones
        np.testing.assert_allclose(loss(**given), loss_of(given), rtol=1e-4 if dtype == "float32" else 1e-12)
    assert asked == [2, 2]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_threads_are_looked_at_once(asked: list[int], dtype: str) -> None:
    given = chained(3000, 2500, 30, 20, dtype)
    product = ms.compile(CHAIN, **given)
    for _ in range(3):
        np.testing.assert_array_equal(product(**given), chain_of(given))
    assert asked == [3, 3]


def is_native(kernel: Any) -> bool:
    return isinstance(kernel._last, _native.ProgramLauncher)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_vectors_into_the_result(native: bool, dtype: str) -> None:
    given = chained(3000, 2500, 30, 20, dtype)
    product, expected, seen = ms.compile(CHAIN, **given), chain_of(given), []
    for _ in range(3):
        found = product(**given)
        assert all(not np.may_share_memory(found, other) for other in seen)
        out = np.full(3000, np.nan, dtype)
        assert product(**given, out=out) is out
        seen += [found, out]
    for found in seen:
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
    assert is_native(product) == native


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("text", "expected", "shapes"),
    [
        ("C(i,l) = U(i,k) * V(k,j) * W(j,l)", lambda U, V, W: U @ V @ W, ((90, 70), (70, 50), (50, 60))),
        ("C(i,l) = U(k,i) * V(j,k) * W(l,j)", lambda U, V, W: U.T @ V.T @ W.T, ((70, 90), (50, 70), (60, 50))),
        ("C(l,i) = U(i,k) * V(k,j) * W(j,l)", lambda U, V, W: (U @ V @ W).T, ((90, 70), (70, 50), (50, 60))),
        ("C(i,l) = U(k,i) * U(k,j) * W(j,l)", lambda U, W: U.T @ U @ W, ((90, 60), (60, 70))),
        ("C(i,l) = U(i,k) * U(j,k) * W(j,l)", lambda U, W: U @ U.T @ W, ((60, 90), (60, 70))),
        ("C(i,l) = U(i,k) * U(k,j) * W(j,l)", lambda U, W: U @ U @ W, ((60, 60), (60, 70))),
    ],
)
def test_matrices_either_way(native: bool, text: str, expected: Any, shapes: Any, dtype: str) -> None:
    names = [name for name in "UVW" if f"{name}(" in text]
    given = {name: drawn(*shape, dtype=dtype) for name, shape in zip(names, shapes, strict=True)}
    product = ms.compile(text, **given)
    assert product.explain().count("by BLAS") >= 1
    for _ in range(2):
        np.testing.assert_array_equal(product(**given), expected(**given))
    assert is_native(product) == native


def test_one_array_in_two_places(native: bool) -> None:
    U, x = drawn(400, 400), drawn(400)
    product = ms.compile("C(i,l) = U(k,i) * V(k,j) * W(j,l)", U=U[:, :60], V=U[:, :60], W=U[:60, :60])
    one, other = np.ascontiguousarray(U[:, :60]), np.ascontiguousarray(U[:60, :60])
    twice = ms.compile("y(i) = U(i,k) * V(j,k) * x(j)", U=U, V=U, x=x)
    for _ in range(3):
        np.testing.assert_array_equal(product(U=one, V=one, W=other), one.T @ one @ other)
        np.testing.assert_array_equal(twice(U=U, V=U, x=x), U @ (U.T @ x))
        np.testing.assert_array_equal(twice(U=U, V=U, x=U[0]), U @ (U.T @ U[0]))
    assert is_native(twice) == native


@pytest.mark.parametrize("shape", [(0, 5, 4, 3), (5, 0, 4, 3), (5, 4, 0, 3), (5, 4, 3, 0), (1, 1, 1, 1), (1, 7, 1, 2)])
def test_other_extents(native: bool, shape: tuple[int, int, int, int]) -> None:
    product, given = ms.compile(CHAIN, **chained(3000, 2500, 30, 20)), chained(*shape)
    for _ in range(2):
        np.testing.assert_array_equal(product(**given), chain_of(given))


def test_the_result_may_be_an_operand_and_operands_in_any_form(native: bool) -> None:
    given = chained(800, 700, 800, 800)
    product, expected = ms.compile(CHAIN, **given), chain_of(given)
    x = given["x"]
    for _ in range(2):
        out = x.copy()
        product(**{**given, "x": out}, out=out)
        np.testing.assert_array_equal(out, expected)
        strided, turned = np.repeat(x, 2)[::2], np.asfortranarray(given["W"])
        strided.flags.writeable = False
        np.testing.assert_array_equal(product(**{**given, "x": strided, "W": turned}), expected)


def test_numbers_that_are_not_finite(native: bool) -> None:
    given = chained(3000, 2500, 30, 20)
    given["x"][3], given["W"] = np.inf, np.abs(given["W"]) + 1
    product = ms.compile(CHAIN, **given)
    with np.errstate(all="raise"):
        for _ in range(2):
            assert not np.isfinite(product(**given)[(given["U"] != 0).any(1)]).any()


def test_an_error_leaves_the_threads_of_blas_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    controls = blas_threads._controls()
    if controls is None:
        pytest.skip("this NumPy has a BLAS without known controls")
    monkeypatch.setattr(run_steps, "native_program", lambda *_: None)
    given, before = chained(3000, 2500, 30, 20), controls.get()
    product = ms.compile(CHAIN, **given)
    product(**given)

    def refuse(*_: Any, **__: Any) -> None:
        assert controls.get() == 1
        raise FloatingPointError

    with monkeypatch.context() as patched:
        patched.setattr(np, "dot", refuse)
        with pytest.raises(FloatingPointError):
            product(**given)
    assert controls.get() == before
    np.testing.assert_array_equal(product(**given), chain_of(given))


def test_calls_of_several_threads(native: bool) -> None:
    controls = blas_threads._controls()
    given = chained(3000, 2500, 30, 20)
    other = {**given, "x": given["x"] + 1}
    product, wrong = ms.compile(CHAIN, **given), []
    before = None if controls is None else controls.get()

    def call(operands: dict[str, Any]) -> None:
        expected = chain_of(operands)
        wrong.extend(1 for _ in range(30) if not np.array_equal(product(**operands), expected))

    running = [threading.Thread(target=call, args=(one,)) for one in (given, other, given)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert (wrong, None if controls is None else controls.get()) == ([], before)


@pytest.mark.usefixtures("native", "whatever_can_be_cut")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (7, 8, 9, 3), (15, 16, 17, 64), (64, 33, 100, 31), (3000, 32, 999, 5)])
def test_threads_share_products_of_a_matrix_and_a_vector(sizes: tuple[int, int, int, int], dtype: str) -> None:
    """Each has elements of the result of its own, whether the matrix is transposed or not."""
    given = chained(*sizes, dtype=dtype)
    kernel, expected = ms.compile(CHAIN, **given, optimize="auto"), chain_of(given)
    for threads in (1, 2, 3):
        for deterministic in (False, True):
            limited = kernel.within(threads, deterministic)
            for _ in range(3):  # small whole numbers: sums have no rounding
                np.testing.assert_array_equal(limited(**given), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text", ["y(i) = A(i,j) * B(j,k) * x(k)", "y(k) = A(i,j) * B(j,k) * z(i)"])
@pytest.mark.parametrize("sizes", [(1, 1000, 1000), (1000, 1, 1000), (1000, 1000, 1), (1, 20000, 9)])
def test_each_call_gives_the_bits_of_the_first(text: str, dtype: Any, sizes: tuple[int, int, int]) -> None:
    """The first call is NumPy's, which adds up a matrix of one row in an order of its own."""
    random = np.random.default_rng(3)
    m, n, k = sizes
    operands = {"A": random.random((m, n)), "B": random.random((n, k)), "x": random.random(k), "z": random.random(m)}
    given = {name: value.astype(dtype) for name, value in operands.items() if f"{name}(" in text}
    kernel = ms.compile(text, deterministic=True, **given)
    assert len({np.asarray(kernel(**given)).tobytes() for _ in range(4)}) == 1
