"""Products of arrays by NumPy's BLAS: every arrangement of axes, limits of threads, and what is no product for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.program import ArrayProduct, read_steps, write_steps
from mlir_sparse.runtime import blas_threads

TEXT = "C(i,k) = A(i,j) * B(j,k)"
RNG = np.random.default_rng(0)
A, B = RNG.integers(-3, 4, (160, 150)).astype(float), RNG.integers(-3, 4, (150, 170)).astype(float)


def kernel(text: str = TEXT, **operands: Any) -> Any:
    found = ms.compile(text, **(operands or {"A": A, "B": B}))
    assert "BLAS: " in found.explain()
    return found


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return RNG.integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_in_each_type_that_blas_has(dtype: str) -> None:
    operands = {"A": A.astype(dtype), "B": B.astype(dtype)}
    found = kernel(TEXT, **operands)(**operands)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, A @ B)


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("C(k,i) = A(i,j) * B(j,k)", {"A": A, "B": B}),
        ("C(i,k) = A(j,i) * B(k,j)", {"A": A.T, "B": B.T}),
        ("C(i,k) = B(k,j) * A(j,i)", {"A": A.T, "B": B.T}),
        ("C(i,k) = A(j,i) * A(j,k)", {"A": A}),
        ("C(b,i,k) = A(i,b,j) * B(j,b,k)", {"A": drawn(50, 40, 30), "B": drawn(30, 40, 60)}),
        ("C(i,b,k) = A(b,i,j) * B(b,j,k)", {"A": drawn(40, 50, 30), "B": drawn(40, 30, 60)}),
        ("C(a,b,i,k) = A(a,b,i,j) * B(b,a,j,k)", {"A": drawn(4, 5, 40, 60), "B": drawn(5, 4, 60, 50)}),
        ("C(k,l,i) = A(i,j,m) * B(m,k,j,l)", {"A": drawn(160, 10, 12), "B": drawn(12, 19, 10, 11)}),
        ("C(i,l,m) = A(i,j,k) * B(j,k,l,m)", {"A": drawn(160, 10, 12), "B": drawn(10, 12, 19, 11)}),
        ("C(i,k) = A(i,j) * B(j,k) * x(k) + D(k,i)", {"A": A, "B": B, "x": drawn(170), "D": drawn(170, 160)}),
        ("C(i,k) = exp(sum(j : A(i,j) * B(j,k)) / 100)", {"A": A, "B": B}),
        ("C(i,k) += A(i,j) * B(j,k)", {"A": A, "B": B, "C": drawn(160, 170)}),
    ],
)
def test_axes_in_any_order(text: str, operands: dict[str, Any]) -> None:
    expected = ms.evaluate(text, **{n: v.copy() for n, v in operands.items()}, optimize="off")
    np.testing.assert_array_equal(kernel(text, **operands)(**{n: v.copy() for n, v in operands.items()}), expected)


@pytest.mark.parametrize("shape", [(0, 5, 4), (5, 0, 4), (5, 4, 0), (1, 1, 1), (1, 7, 3), (3, 1, 7), (3, 7, 1)])
def test_other_extents_than_it_was_planned_for(shape: tuple[int, int, int]) -> None:
    product, one, other = kernel(), drawn(*shape[:2]), drawn(*shape[1:])
    np.testing.assert_array_equal(product(one, other), one @ other)
    out = np.full((shape[0], shape[2]), np.nan)
    assert product(one, other, out=out) is out
    np.testing.assert_array_equal(out, one @ other)


def test_numbers_that_are_not_finite() -> None:
    """They spread as in loops, without warnings of NumPy's."""
    one, other = A.copy(), B.copy()
    one[0, 0], one[1, 1], other[0] = np.inf, np.nan, 0
    with np.errstate(all="raise"):
        found = kernel()(one, other)
    np.testing.assert_array_equal(found, ms.evaluate(TEXT, A=one, B=other, optimize="off"))
    assert np.isnan(found[:2]).all()


@pytest.mark.parametrize(
    "make", [np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: np.ascontiguousarray(x[::-1])[::-1]]
)
def test_arrays_with_strides_and_read_only_ones(make: Callable[[Any], Any]) -> None:
    one, other = make(A), make(B)
    one.flags.writeable = False
    np.testing.assert_array_equal(kernel()(one, other), A @ B)
    out = make(np.zeros((160, 170)))
    assert kernel()(one, other, out=out) is out
    np.testing.assert_array_equal(out, A @ B)


def test_the_result_may_be_an_operand() -> None:
    square = drawn(150, 150)
    product, expected = kernel(TEXT, A=square, B=square), square @ square
    for _ in range(2):  # the first call of a kernel takes another way than later ones
        given = square.copy()
        product(given, given, out=given)
        np.testing.assert_array_equal(given, expected)


def test_what_does_not_fit_is_refused() -> None:
    product = kernel()
    product(A, B)
    for given, error in [
        ((A, A), ms.ExtentError),
        ((A.astype("float32"), B), ms.DTypeError),
        ((A[0], B), ms.RankError),
        ((ms.tensor(A, "CSR"), B), ms.OperandError),
    ]:
        with pytest.raises(error):
            product(*given)
    with pytest.raises(ms.SparseError):
        product(A, B, out=np.zeros((3, 3)))


def test_a_result_with_sparse_storage() -> None:
    product = ms.compile(TEXT, A=A, B=B, out="CSR")
    assert "BLAS: " in product.explain()
    np.testing.assert_array_equal(product(A, B).to_numpy(), A @ B)


def test_sparse_operands_of_a_layer() -> None:
    """The plan for data stands where kernels are called with other data."""
    X, W, S = drawn(400, 300), drawn(300, 16), ms.tensor(drawn(400, 400) * (RNG.random((400, 400)) < 0.02), "CSR")
    layer = kernel("H(i,h) = S(i,j) * X(j,f) * W(f,h)", S=S, X=X, W=W)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(layer.within(threads, True)(S, X, W), S.to_numpy() @ X @ W)


def test_saved_and_as_data(tmp_path: Any) -> None:
    product = kernel()
    product.save(tmp_path / "kernel")
    loaded = ms.load(tmp_path / "kernel")
    np.testing.assert_array_equal(loaded(A, B), A @ B)
    assert loaded.explain() == product.explain()
    steps = product._declared.steps
    assert read_steps(write_steps(steps, ()), ()) == steps
    assert [type(step) for step in steps.steps] == [ArrayProduct]
    assert (product.ir("asm"), product.ir("linalg").splitlines()[1]) == ("", "module {")
    assert product.ir("linalg").startswith("// C = by BLAS A(i,j) * B(j,k) as f64[?,?]: ")


def blas() -> Any:
    controls = blas_threads._controls()
    if controls is None:
        pytest.skip("this NumPy has a BLAS without known controls")
    return controls


def test_threads_of_blas_follow_limits_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    controls, seen = blas(), []
    before, multiply = controls.get(), np.matmul

    def matmul(*operands: Any, out: Any) -> Any:
        seen.append(controls.get())
        return multiply(*operands, out=out)

    monkeypatch.setattr(np, "matmul", matmul)
    product = kernel()
    product.within(10_000, False)(A, B)
    assert seen.pop() == 1  # there is too little to do for two
    monkeypatch.setattr(blas_threads, "_work", lambda *, by_vector: 1)
    for limits in ((1, False), (None, True), (10_000, False)):
        product.within(*limits)(A, B)
    assert (seen, controls.get()) == ([1, 1, before], before)


def test_calls_of_several_threads_leave_blas_as_it_was() -> None:
    before, product, wrong = blas().get(), kernel(), []

    def call(threads: int | None) -> None:
        limited = product.within(threads, False)
        wrong.extend(1 for _ in range(20) if not np.array_equal(limited(A, B), A @ B))

    running = [threading.Thread(target=call, args=(threads,)) for threads in (1, 2, 1, None)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert (wrong, blas().get()) == ([], before)


def test_a_blas_that_cannot_be_limited_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(blas_threads, "_controls", lambda: None)
    monkeypatch.setattr(np, "matmul", refuse)
    for text, operands in [
        (TEXT, {"A": A, "B": B}),
        ("C(b,i,k) = A(i,b,j) * B(j,b,k)", {"A": drawn(50, 40, 30), "B": drawn(30, 40, 60)}),
    ]:
        expected = ms.evaluate(text, **operands, optimize="off")
        np.testing.assert_array_equal(kernel(text, **operands).within(None, True)(**operands), expected)


def test_controls_are_those_of_the_blas_of_numpy() -> None:
    controls = blas()
    before = controls.get()
    assert before >= 1
    controls.set(1)
    try:
        assert controls.get() == 1
    finally:
        controls.set(before)
