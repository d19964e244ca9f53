"""Expressions that are recorded again: kernels are found by structure, and nothing is inferred or planned anew."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
from mlir_sparse.encoding import encoding
from mlir_sparse.lazy import compute_together
from mlir_sparse.lazy.recorded_statements import checked, recorded_step

RNG = np.random.default_rng(11)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[ComprehensionKernel]:
    """Lists the kernels of computations."""
    found: list[ComprehensionKernel] = []
    for one, name in ((compute_together._ReadyValues, "values"), (compute_together._KnownCall, "value")):
        own = getattr(one, name)
        monkeypatch.setattr(one, name, lambda self, given, own=own: found.append(self.kernel) or own(self, given))
    return found


def matrix(rows: int, columns: int, count: int) -> ms.SparseTensor:
    places = np.stack([RNG.integers(0, rows, count), RNG.integers(0, columns, count)])
    return ms.tensor((places, RNG.integers(1, 5, count).astype(float)), "CSR", shape=(rows, columns))


EXPRESSIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product and sum": lambda A, B, x: (A @ B).sum(),
    "vector": lambda A, B, x: A @ (B @ x) + x,
    "functions": lambda A, B, x: np.exp(-np.abs(x)) * 2.0 + np.where(x > 0.5, x, 1.0),
    "axes": lambda A, B, x: (A.T @ x)[:, None] * x[None, :] + A.sum(axis=0, keepdims=True),
    "einsum": lambda A, B, x: np.einsum("ij,jk,k->i", A, B, x),
    "powers, parts and types": lambda A, B, x: (x**2).real + x.astype(np.float64) / 3.0 + (x > 0.25),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_nothing_is_inferred_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expression = EXPRESSIONS[name]
    A, B, x = matrix(50, 50, 250), matrix(50, 50, 250), RNG.random(50)
    first = expression(*map(ms.lazy, (A, B, x)))
    expected = first.compute()
    misses = recorded_step.cache_info().misses, checked.cache_info().misses

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("expected a known kernel on its short path")

    monkeypatch.setattr(compute_together, "compile", refused)
    monkeypatch.setattr(ComprehensionKernel, "_call", refused)
    again = expression(*map(ms.lazy, (A, B, x)))
    assert again._view.value.form is first._view.value.form
    found = again.compute()
    assert (recorded_step.cache_info().misses, checked.cache_info().misses) == misses
    for one, other in ((found, expected), (found, np.asarray(expression(A.to_numpy(), B.to_numpy(), x)))):
        np.testing.assert_allclose(_array(one), _array(other), rtol=1e-12)


def _array(value: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = value.to_numpy() if isinstance(value, ms.SparseTensor) else np.asarray(value)
    return array


def test_other_data_of_one_structure(called: list[ComprehensionKernel]) -> None:
    """Sizes, storage, element types and shapes of one element: each has the kernel that it needs."""
    cases = [
        (matrix(50, 50, 250), matrix(50, 50, 250)),
        (matrix(50, 50, 260), matrix(50, 50, 240)),
        (matrix(3000, 3000, 90_000), matrix(3000, 3000, 90_000)),
        (matrix(50, 50, 250).convert("CSC"), matrix(50, 50, 250)),
        (matrix(1, 50, 20), matrix(50, 1, 20)),
        (matrix(50, 1, 20), matrix(1, 50, 20)),
        (matrix(0, 4, 0), matrix(4, 0, 0)),
        (matrix(50, 50, 250).to_numpy(), matrix(50, 50, 250)),
        (matrix(50, 50, 250).to_numpy().astype(np.int32), matrix(50, 50, 250).to_numpy().astype(np.int32)),
    ]
    for _ in range(2):
        for A, B in cases:
            total = (ms.lazy(A) @ ms.lazy(B)).sum()
            expected = _array(A).sum(axis=0) @ _array(B).sum(axis=1)
            np.testing.assert_allclose(total.compute(), expected, rtol=1e-12)
    # The second case has the sizes of the first.
    assert len(set(map(id, called))) == len(cases) - 1
    assert called[: len(cases)] == called[len(cases) :]


def test_data_with_other_sizes_is_planned_anew(called: list[ComprehensionKernel]) -> None:
    """Tensors of one type: the kernel of the last computation serves the same ones, others have the plan for theirs."""
    small, large = matrix(3000, 3000, 300), matrix(3000, 3000, 90_000)
    for A in (small, large, small, large):
        y = ms.lazy(A) @ (ms.lazy(A) @ np.ones(3000))
        np.testing.assert_allclose(y.compute(), A.to_scipy() @ (A.to_scipy() @ np.ones(3000)))
    assert called[0] is called[2] is not called[1] is called[3]


def test_steps_of_known_expressions_are_taken_when_asked_for() -> None:
    """What is recorded again is complete all the same: its shape, its steps, and what is recorded on it."""
    A, B, x = matrix(50, 40, 250), matrix(40, 50, 250), RNG.random(50)
    for _ in range(2):
        y = (ms.lazy(A) @ B).T @ ms.lazy(x)
        assert (y.shape, y.dtype, repr(y)) == ((50,), np.float64, "<LazyArray f64[50], 2 steps: call .compute()>")
        z = (y * y - x).sum(axis=0, keepdims=True) * 2.0
        expected = (_array(A) @ _array(B)).T @ x
        np.testing.assert_allclose(z.compute(), (expected * expected - x).sum(axis=0, keepdims=True) * 2.0)
        for one, other in zip(ms.compute(y, z), (y.compute(), z.compute()), strict=True):
            np.testing.assert_array_equal(one, other)


def test_arguments_of_sums_count() -> None:
    A = matrix(30, 40, 200)
    for _ in range(2):
        for axis in (None, 0, 1, -1, (0, 1), np.int64(0)):
            for keepdims in (False, True):
                found = ms.lazy(A).sum(axis=axis, keepdims=keepdims).compute()
                np.testing.assert_allclose(found, _array(A).sum(axis=axis, keepdims=keepdims))
                assert np.shape(found) == np.shape(_array(A).sum(axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("error", [ms.ExtentError, ms.UnsupportedError])
def test_a_known_expression_is_refused_on_other_operands(error: type[Exception]) -> None:
    A, x = matrix(30, 40, 200), RNG.random(40)
    for _ in range(2):
        assert (ms.lazy(A) @ x).shape == (30,)
        with pytest.raises(error):
            _ = ms.lazy(A) @ RNG.random(41) if error is ms.ExtentError else ms.lazy(A) * np.array(np.inf)
        assert (ms.lazy(A) * np.array(2.0)).shape == (30, 40)


def test_values_written_between_computations_count() -> None:
    A, x = matrix(30, 30, 90), RNG.random(30)
    for factor in (1.0, 2.0, -3.0):
        A.storage.values[:] *= factor
        x *= factor
        np.testing.assert_allclose((ms.lazy(A) @ ms.lazy(x)).compute(), _array(A) @ x)


def test_long_chains_of_known_steps() -> None:
    """Steps that are left for later do not exhaust Python's stack, nor do they repeat what is shared."""
    x = np.array([1.0, 2.0, 4.0])
    for _ in range(2):
        total, twice = ms.lazy(x), ms.lazy(x)
        for _ in range(2000):
            total = total + ms.lazy(x)
        for _ in range(40):
            twice = twice + twice
        assert total.shape == (3,)
        np.testing.assert_array_equal(twice.compute(), x * 2.0**40)


def test_options_of_known_expressions_count(called: list[ComprehensionKernel]) -> None:
    A, x = matrix(50, 50, 250), RNG.random(50)
    for _ in range(2):
        for optimize in ("auto", "off"):
            for threads in (None, 1):
                y = ms.lazy(A) @ (ms.lazy(A) @ x)
                found = y.compute(optimize=optimize, threads=threads)
                np.testing.assert_allclose(found, _array(A) @ (_array(A) @ x))
    assert len(set(map(id, called))) == 4
    ms.set_optimize("off")
    try:
        (ms.lazy(A) @ (ms.lazy(A) @ x)).compute()
    finally:
        ms.set_optimize(None)
    assert called[-1] is called[2]


def test_kept_forms_hold_no_data() -> None:
    A, x = matrix(50, 50, 250), RNG.random(50)
    for _ in range(2):
        (ms.lazy(A) @ ms.lazy(x)).sum().compute()
    kept = weakref.ref(A), weakref.ref(x)
    del A, x
    gc.collect()
    assert kept[0]() is kept[1]() is None


def test_threads_record_and_compute_one_expression() -> None:
    A, B = matrix(60, 60, 300), matrix(60, 60, 300)
    expected = (_array(A) @ _array(B)).sum()

    def computed(_: int) -> float:
        return float((ms.lazy(A) @ ms.lazy(B)).sum().compute())

    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_allclose(list(pool.map(computed, range(200))), expected)


def test_values_that_are_read_in_any_order_and_often() -> None:
    """Each statement and each operand is numbered once, after what it reads."""
    A, x = ms.lazy(matrix(30, 30, 90)), ms.lazy(RNG.random(30))
    dense, vector = _array(A._view.value.source), x._view.value.source
    y = A @ x
    z = x * y + (A.T @ y) * y + y
    for _ in range(4):
        z = z + z * y
    expected = vector * (dense @ vector) + (dense.T @ (dense @ vector)) * (dense @ vector) + dense @ vector
    for _ in range(4):
        expected = expected + expected * (dense @ vector)
    np.testing.assert_allclose(z.compute(), expected, rtol=1e-10)
    found = ms.compute(y, z, y.sum(), x, z.sum(), A)
    np.testing.assert_allclose(found[4], expected.sum(), rtol=1e-10)
    assert found[3] is vector
    assert found[5] is A._view.value.source


def test_one_operand_in_two_places_is_another_structure() -> None:
    A, B = matrix(40, 40, 200), matrix(40, 40, 200)
    for _ in range(2):
        for left, right in ((A, A), (A, B), (B, A), (B, B)):
            np.testing.assert_array_equal(
                (ms.lazy(left) @ ms.lazy(right)).sum().compute(), (_array(left) @ _array(right)).sum()
            )


def test_operands_among_what_is_wanted() -> None:
    A, x = matrix(30, 30, 90), RNG.random(30)
    unread, vector = ms.lazy(matrix(2, 2, 2)), ms.lazy(x)
    for _ in range(2):
        y = ms.lazy(A) @ vector
        same, product, first, twice = ms.compute(unread, y, vector, y)
        assert same is unread.compute()
        assert first is x
        np.testing.assert_allclose(product, _array(A) @ x)
        np.testing.assert_array_equal(product, twice)


def test_numbers_in_the_text_keep_their_types() -> None:
    x = np.array([3, 4])
    for number in (1, 1.0, 2, 2.0, True, 0.5):
        found = (ms.lazy(x) * number).compute()
        assert found.dtype == (x * number).dtype
        np.testing.assert_array_equal(found, x * number)


def test_a_small_product_that_is_only_read_is_never_made() -> None:
    A, B, x = matrix(50, 50, 250), matrix(50, 50, 250), RNG.random(50)
    text = "def f(double(N,K) A, double(K,M) B, double(M) x) -> (y) { C(i,j) = A(i,k) * B(k,j)  y(i) = C(i,j) * x(j) }"
    kernel = ms.compile(text, A=A, B=B, x=x)
    assert len(kernel.kernels) == 1  # type: ignore[attr-defined]
    np.testing.assert_allclose(kernel(A, B, x), _array(A) @ (_array(B) @ x))


def test_encodings_of_other_processes_are_equal() -> None:
    for text in ("CSR", "BSR(2, 3)", "COO", "DIA"):
        one = encoding(text)
        assert hash(one) == hash(encoding(text))
        state = list(one.__getstate__())
        state[-1] = 12345  # what another process hashes text to
        other = object.__new__(type(one))
        other.__setstate__(state)
        assert hash(other) == hash(one)
        assert {one: 1}[pickle.loads(pickle.dumps(one))] == 1
