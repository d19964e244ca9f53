"""Short products of arrays that follow one another in a program: BLAS is told once how many threads to take."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.runtime import blas_threads

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of products that BLAS ran for one look at its threads."""
    if blas_threads._controls() is None:
        pytest.skip("this NumPy has a BLAS without known controls")
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
def test_vectors_into_the_result(asked: list[int], dtype: str) -> None:
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
    assert set(asked) == {3}


@pytest.mark.parametrize("shape", [(0, 5, 4, 3), (5, 0, 4, 3), (5, 4, 0, 3), (5, 4, 3, 0), (1, 1, 1, 1), (1, 7, 1, 2)])
def test_other_extents(shape: tuple[int, int, int, int]) -> None:
    product, given = ms.compile(CHAIN, **chained(3000, 2500, 30, 20)), chained(*shape)
    for _ in range(2):
        np.testing.assert_array_equal(product(**given), chain_of(given))


def test_the_result_may_be_an_operand_and_operands_in_any_form() -> None:
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


def test_numbers_that_are_not_finite() -> None:
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
    given, before = chained(3000, 2500, 30, 20), controls.get()
    product = ms.compile(CHAIN, **given)
    product(**given)

    def refuse(*_: Any, **__: Any) -> None:
        assert controls.get() == 1
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(np, "dot", refuse)
        with pytest.raises(MemoryError):
            product(**given)
    assert controls.get() == before
    np.testing.assert_array_equal(product(**given), chain_of(given))


def test_calls_of_several_threads() -> None:
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
