"""Products of a matrix and a vector by NumPy's BLAS, as parts of statements."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.runtime import blas_threads, run_steps

TEXT = "y(i) = U(i,k) * V(j,k) * x(j)"
RNG = np.random.default_rng(0)


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return RNG.integers(-3, 4, shape).astype(dtype)


U, V, X = drawn(3000, 40), drawn(2500, 40), drawn(2500)


def kernel(text: str = TEXT, **operands: Any) -> Any:
    found = ms.compile(text, **(operands or {"U": U, "V": V, "x": X}))
    assert "BLAS: " in found.explain()
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("text", "turned"),
    [
        (TEXT, ""),
        ("y(i) = U(k,i) * V(j,k) * x(j)", "U"),
        ("y(i) = x(j) * V(k,j) * U(i,k)", "V"),
        ("y(i) = x(j) * (V(k,j) * U(k,i))", "UV"),
    ],
)
def test_matrices_either_way_and_in_each_type(text: str, turned: str, dtype: str) -> None:
    given = {"U": U.astype(dtype), "V": V.astype(dtype), "x": X.astype(dtype)}
    given |= {name: np.ascontiguousarray(given[name].T) for name in turned}
    product, expected = kernel(text, **given), U @ (V.T @ X)
    for _ in range(2):  # the first call of a kernel takes another way than later ones
        found = product(**given)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
        out = np.full(3000, np.nan, dtype)
        assert product(**given, out=out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", [(0, 5, 4), (5, 0, 4), (5, 4, 0), (1, 1, 1), (3, 1, 7), (3, 7, 1)])
def test_other_extents_than_it_was_planned_for(shape: tuple[int, int, int]) -> None:
    rows, columns, rank = shape
    product, one, other, x = kernel(), drawn(rows, rank), drawn(columns, rank), drawn(columns)
    for _ in range(2):
        np.testing.assert_array_equal(product(U=one, V=other, x=x), one @ (other.T @ x))


def test_numbers_that_are_not_finite() -> None:
    product, x = kernel(), X.copy()
    x[3] = np.inf
    with np.errstate(all="raise"):
        for _ in range(2):
            assert not np.isfinite(product(U=U, V=np.abs(V) + 1, x=x)[(U != 0).any(1)]).any()


def test_the_result_may_be_an_operand_and_operands_in_any_form() -> None:
    square, x = drawn(600, 600), drawn(600)
    product, expected = kernel(TEXT, U=square, V=square, x=x), square @ (square.T @ x)
    for _ in range(2):
        given = x.copy()
        product(U=square, V=square, x=given, out=given)
        np.testing.assert_array_equal(given, expected)
        strided = np.repeat(x, 2)[::2]
        np.testing.assert_array_equal(product(U=np.asfortranarray(square), V=square[:], x=strided), expected)


def test_threads_of_blas_follow_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    controls = blas_threads._controls()
    if controls is None:
        pytest.skip("this NumPy has a BLAS without known controls")
    seen, before, dot = [], controls.get(), np.dot

    def watched(*operands: Any, out: Any) -> Any:
        seen.append(controls.get())
        return dot(*operands, out=out)

    monkeypatch.setattr(np, "dot", watched)
    monkeypatch.setattr(run_steps, "native_program", lambda *_: None)
    product = kernel()
    product.within(10_000, False)(U=U, V=V, x=X)
    assert set(seen) == {1}  # there is too little to do for two
    monkeypatch.setattr(blas_threads, "_work", lambda *, by_vector: 1)
    for threads, deterministic, expected in ((1, False, 1), (None, True, 1), (10_000, False, before)):
        seen.clear()
        found = product.within(threads, deterministic)(U=U, V=V, x=X)
        np.testing.assert_array_equal(found, U @ (V.T @ X))
        assert (set(seen), controls.get()) == ({expected}, before)


def test_a_blas_that_cannot_be_limited_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(blas_threads, "_controls", lambda: None)
    monkeypatch.setattr(np, "dot", refuse)
    np.testing.assert_array_equal(kernel().within(None, True)(U=U, V=V, x=X), (U * (V.T * X).sum(1)).sum(1))


def test_a_second_thread_takes_part_where_there_is_enough_to_read() -> None:
    # What a thread must be worth is counted in entries of loops: an element of an array that BLAS reads takes less.
    program = textwrap.dedent(
        """
        import numpy as np
        import mlir_sparse as ms
        from mlir_sparse import _native

        text = "y(i) = U(i,k) * V(j,k) * x(j)"
        for rows, threads in ((2, 0), (8, 1)):
            rows = rows * _native.piece_work() // 16
            given = {"U": np.ones((rows, 16)), "V": np.ones((rows, 16)), "x": np.ones(rows)}
            product = ms.compile(text, **given, threads=2)
            for _ in range(3):
                assert (product(**given) == 16 * rows).all()
            assert _native.pool_size() == threads, (rows, _native.pool_size())
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
