"""Calls of `evaluate` that look like earlier ones: the same results, and the same refusals."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.repeated_calls import RepeatedCalls

TEXT = "y(i) = A(i,j) * x(j)"
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
X = np.array([1.0, 2.0, 3.0])


def test_operands_of_other_types_are_other_calls() -> None:
    for dtype in ("f8", "f4", "i8", "i1", "c16"):
        for storage in ("CSR", "CSC", "COO", None):
            array = DENSE.astype(dtype)
            A = array if storage is None else ms.tensor(array, storage)
            for _ in range(3):
                result = ms.evaluate(TEXT, A=A, x=X.astype(dtype))
                assert result.dtype == np.dtype(dtype)
                np.testing.assert_array_equal(result, array @ X.astype(dtype))


def test_truth_is_counted_in_each_call() -> None:
    for _ in range(3):
        for dtype, expected in (("i1", DENSE.astype("i1") @ np.ones(3, "i1")), ("?", [2, 1])):
            result = ms.evaluate(TEXT, A=ms.tensor(DENSE.astype(dtype)), x=np.ones(3, dtype))
            np.testing.assert_array_equal(result, expected)


def test_results_go_where_they_are_asked_for() -> None:
    A, out = ms.tensor(DENSE), np.zeros(2)
    for _ in range(3):
        assert ms.evaluate(TEXT, A=A, x=X, out=out) is out
        np.testing.assert_array_equal(out, DENSE @ X)
        assert isinstance(ms.evaluate(TEXT, A=A, x=X), np.ndarray)
        assert isinstance(ms.evaluate(TEXT, A=A, x=X, out="SparseVector"), ms.SparseTensor)
        with pytest.raises(ms.ExtentError):
            ms.evaluate(TEXT, A=A, x=X, out=np.zeros(3))
        with pytest.raises(ms.ExtentError):
            ms.evaluate(TEXT, A=A, x=np.zeros(4))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"threads": 1}, {"threads": True}),
        ({"threads": 1}, {"threads": 1.0}),
        ({"deterministic": True}, {"deterministic": 1}),
        ({"optimize": "off"}, {"optimize": np.array("off")}),
        ({"semiring": "min_plus"}, {"semiring": 0}),
        ({"via": "auto"}, {"via": "library"}),
        ({"schedule": "lanes=0"}, {"schedule": "lanes=3"}),
    ],
)
def test_what_is_refused_is_refused_after_calls_like_it(right: dict[str, Any], wrong: dict[str, Any]) -> None:
    A = ms.tensor(DENSE)
    for _ in range(2):
        ms.evaluate(TEXT, A=A, x=X, **right)
        with pytest.raises(ms.SparseError):
            ms.evaluate(TEXT, A=A, x=X, **wrong)


def test_names_are_those_of_the_text() -> None:
    A = ms.tensor(DENSE)
    for _ in range(2):
        np.testing.assert_array_equal(ms.evaluate(TEXT, x=X, A=A), DENSE @ X)
        np.testing.assert_array_equal(ms.evaluate("y(i) = \u00b5(i)", µ=X), X)
        with pytest.raises(ms.UnknownTensorError):
            ms.evaluate(TEXT, A=A, x=X, z=X)
        with pytest.raises(ms.UnknownTensorError):
            ms.evaluate(TEXT, A=A)


def test_numbers_are_operands() -> None:
    for alpha in (2.0, 3.0, 2j, 0.5):
        np.testing.assert_array_equal(ms.evaluate("y(i) = alpha * x(i)", alpha=alpha, x=X), alpha * X)


def test_data_decides_again_where_it_decides() -> None:
    """The same types: the plan is that of the data, not of the first call."""
    rng = np.random.default_rng(0)
    places, values = rng.integers(0, 3000, (2, 120_000)), np.ones(120_000)
    large = ms.tensor((places, values), "CSR", shape=(3000, 3000))
    small = ms.tensor((places[:, :100] % 30, values[:100]), "CSR", shape=(30, 30))
    text = "y(i) = A(i,j) * B(j,k) * x(k)"
    for A in (small, large, small, large, large, small):
        x = np.ones(A.shape[0])
        dense = A.to_scipy()
        np.testing.assert_allclose(ms.evaluate(text, A=A, B=A, x=x), dense @ (dense @ x))
        assert ("rewritten" in ms.compile(text, A=A, B=A, x=x).explain()) == (A is large)


def test_a_change_of_the_process_is_seen() -> None:
    A = ms.tensor(DENSE)
    ms.evaluate(TEXT, A=A, x=X)
    ms.set_num_threads(1)
    np.testing.assert_array_equal(ms.evaluate(TEXT, A=A, x=X), DENSE @ X)
    ms.set_optimize("off")
    np.testing.assert_array_equal(ms.evaluate(TEXT, A=A, x=X), DENSE @ X)
    ms.set_optimize(None)


def test_threads_keep_kernels_at_once() -> None:
    calls, before, failed = RepeatedCalls(), sys.getswitchinterval(), list[BaseException]()
    kernel = ms.compile(TEXT, A="f64[?,?] CSR", x="f64[?]")
    assert isinstance(kernel, ms.Kernel)

    def keep(thread: int) -> None:
        try:
            for call in range(60_000):
                calls.keep((thread, call), kernel, by_data=False)
        except RuntimeError as error:
            failed.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=keep, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed
