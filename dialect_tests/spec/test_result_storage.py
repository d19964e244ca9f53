"""Storage of results that nobody asked for: by notation and types alone; a warning where dense is far too much."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

SEMI = "(i, j, r) -> (i : compressed, j : compressed, r : dense)"
RULE = (
    ("C(i,j,r) = T(i,j,k) * B(k,r)", {"T": "CSF", "B": "dense"}, SEMI),
    ("C(i,j,r) = T(i,j,k) * B(k,r)", {"T": "COO", "B": "dense"}, SEMI),
    (
        "C(r,i,j) = T(i,j,k) * B(k,r)",
        {"T": "CSF", "B": "dense"},
        "(r, i, j) -> (i : compressed, j : compressed, r : dense)",
    ),
    ("C(i,j,r) = A(i,j) * y(r)", {"A": "DCSR", "y": "dense"}, SEMI),
    ("C(i,j,r) = A(i,j) * y(r)", {"A": "CSR", "y": "dense"}, None),
    ("C(i,r) = A(i,j) * B(j,r)", {"A": "CSR", "B": "dense"}, None),
    ("C(i,r) = A(i,j) * B(j,r)", {"A": "DCSR", "B": "dense"}, None),
    ("C(i,r) = T(i,j,k) * B(j,r) * D(k,r)", {"T": "CSF", "B": "dense", "D": "dense"}, None),
    ("C(i,j,r) = T(i,j,k) * B(k,r) + y(r)", {"T": "CSF", "B": "dense", "y": "dense"}, None),
    ("C(i,j) = T(i,j,k) * y(k)", {"T": "CSF", "y": "dense"}, "CSR"),
)
RANK = {"T": 3, "A": 2, "B": 2, "D": 2, "y": 1}
RANDOM = np.random.default_rng(2)


def some(*shape: int, share: float = 0.2) -> Array:
    return np.where(RANDOM.random(shape) < share, RANDOM.integers(1, 9, shape), 0).astype(float)


@pytest.mark.parametrize(("text", "storage", "wanted"), RULE)
def test_the_rule(text: str, storage: dict[str, str], wanted: str | None) -> None:
    types = {n: f"f64[{','.join('?' * RANK[n])}] {'' if s == 'dense' else s}".strip() for n, s in storage.items()}
    encoding = ms.compile(text, **types).output.encoding
    assert encoding == (None if wanted is None else ms.encoding(wanted))


@pytest.mark.parametrize("storage", ["CSF", "COO", "(i, j, k) -> (k : compressed, j : compressed, i : compressed)"])
@pytest.mark.parametrize(
    ("text", "subscripts"),
    [
        ("C(i,j,r) = T(i,j,k) * B(k,r)", "ijk,kr->ijr"),
        ("C(r,i,j) = T(i,j,k) * B(k,r)", "ijk,kr->rij"),
        ("C(i,k,r) = T(i,j,k) * B(k,r)", "ijk,kr->ikr"),
    ],
)
def test_results_with_a_dense_tail(text: str, subscripts: str, storage: str) -> None:
    T, B = some(7, 8, 9), some(9, 4, share=1.0)
    found = ms.evaluate(text, T=ms.tensor(T, storage), B=B)
    assert isinstance(found, ms.SparseTensor)
    np.testing.assert_array_equal(found.to_numpy(), np.einsum(subscripts, T, B))


def test_a_product_of_a_large_tensor_is_small() -> None:
    places = RANDOM.integers(0, 3000, (3, 2000))
    T = ms.tensor((places, np.ones(2000)), "CSF", shape=(3000, 3000, 3000))
    found = ms.evaluate("C(i,j,r) = T(i,j,k) * B(k,r)", T=T, B=np.ones((3000, 4)))
    assert found.nbytes < 50 * T.nbytes
    assert found.storage.values.sum() == 4 * 2000


def outer() -> dict[str, Any]:
    return {"A": ms.tensor(([[5], [7]], [3.0]), "COO", shape=(2000, 9)), "B": np.ones((9, 5))}


def test_a_dense_result_that_is_far_too_large_is_warned_of() -> None:
    text = "C(i,r) = A(i,j) * B(j,r)"
    with pytest.warns(ms.DenseResultWarning, match=r'out="\(i, r\) -> \(i : compressed, r : dense\)"') as caught:
        dense = ms.evaluate(text, **outer())
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparse = ms.evaluate(text, out="(i, r) -> (i : compressed, r : dense)", **outer())
        asked = ms.evaluate(text, out="dense", **outer())
        np.testing.assert_array_equal(ms.evaluate(text, out=np.empty((2000, 5)), **outer()), asked)
    np.testing.assert_array_equal(sparse.to_numpy(), dense)
    np.testing.assert_array_equal(asked, dense)
    assert sparse.nbytes < 1000


def test_it_is_warned_of_once_where_the_call_stands() -> None:
    operands = outer()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", ms.DenseResultWarning)
        for _ in range(3):
            operands["A"] @ operands["B"]
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_it_is_warned_of_in_calls_of_a_kernel_that_ran_before() -> None:
    """Small operands came first: what further calls take says nothing of how large a result is."""
    small = ms.tensor(([[5], [7]], [3.0]), "COO", shape=(20, 9)), np.ones((9, 5))
    large = tuple(outer().values())
    kernel = ms.compile("C(i,r) = A(i,j) * B(j,r)", A="f64[?,?] COO", B="f64[?,?]")
    for call in (kernel, lambda A, B: A @ B):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(*small)
            call(*small)
        with pytest.warns(ms.DenseResultWarning) as caught:
            call(*large)
        assert [warning.filename for warning in caught] == [__file__]


def test_bytes_of_operands_are_not_counted_for_a_result_near_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ms.tensor(np.tri(9000, 20), "CSR"), np.ones(20)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    kernel(A, x)
    counted = []
    limits = sys.modules["mlir_sparse.compile.call_limits"]
    monkeypatch.setattr(limits, "warn_of_dense", lambda *given: counted.append(given))
    assert kernel(A, x).nbytes > 1 << 16
    assert not counted
    none = ms.tensor(([[], []], []), "CSR", shape=(9000, 20))
    kernel(none, np.ones(20))
    assert len(counted) == 1


def test_storage_is_looked_for_where_a_result_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in each compilation, of which it took a tenth."""
    looked = []
    results = sys.modules["mlir_sparse.spec.large_dense_results"]
    plain = results.storage_instead
    monkeypatch.setattr(results, "storage_instead", lambda *given: looked.append(given) or plain(*given))
    text = "Large(i,r) = Left(i,j) * Right(j,r)"
    left = ms.tensor(([[5], [7]], [3.0]), "COO", shape=(20, 9))
    kernel = ms.compile(text, Left=left, Right=np.ones((9, 5)))
    kernel(left, np.ones((9, 5)))
    assert not looked
    large = ms.tensor(([[5], [7]], [3.0]), "COO", shape=(20_000, 9))
    with pytest.warns(ms.DenseResultWarning, match="compressed, r : dense"):
        kernel(large, np.ones((9, 5)))
    assert len(looked) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.compile(text, Left=large, Right=np.ones((9, 5)), out="dense")(large, np.ones((9, 5)))


def test_a_result_of_moderate_size_is_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.evaluate("C(i,r) = A(i,j) * B(j,r)", A=ms.tensor(np.eye(50), "CSR"), B=np.ones((50, 50)))
        ms.evaluate("C(i,j) = x(i) * y(j)", x=np.ones(500), y=np.ones(500))
