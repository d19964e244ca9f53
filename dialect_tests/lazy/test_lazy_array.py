"""Lazy expressions: what is known without computing, when they compute, what they share, and what they refuse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

together = import_module("mlir_sparse.lazy.compute_together")
N = 3000


def dense(*shape: int, dtype: Any = np.float64) -> Array:
    rng = np.random.default_rng(sum(shape))
    return np.where(rng.random(shape) < 0.5, rng.integers(-3, 4, shape), 0).astype(dtype)


@pytest.fixture(scope="module")
def large() -> dict[str, ms.SparseTensor]:
    rng = np.random.default_rng(0)
    places = rng.integers(0, N, (2, 40 * N))
    return {name: ms.tensor((places, rng.integers(1, 4, 40 * N) * 1.0), "CSR", shape=(N, N)) for name in "AB"}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts computations."""
    found: list[int] = []
    for one, name in ((together._ReadyValues, "values"), (together._KnownCall, "value")):
        own = getattr(one, name)
        monkeypatch.setattr(one, name, lambda *given, own=own: found.append(1) or own(*given))
    return found


# -- nothing is computed until it is asked for ---------------------------------------------------------------------


def test_what_is_known_without_computing(computed: list[int]) -> None:
    A, x = ms.lazy(ms.tensor(dense(4, 5))), ms.lazy(dense(5))
    y = np.exp((A @ x)[:, None] * x) / 2
    assert (y.shape, y.ndim, y.dtype, y.size, len(y)) == ((4, 5), 2, np.dtype(np.float64), 20, 4)
    assert repr(y) == "<LazyArray f64[4,5], 4 steps: call .compute()>"
    assert repr(A) == "<LazyArray f64[4,5], an operand: call .compute()>"
    assert hasattr(y, "sum")
    assert not hasattr(y, "argmax")
    assert ms.lazy(y) is y
    assert not computed


def test_what_computes(computed: list[int]) -> None:
    a, x = dense(4, 5), dense(5)
    A = ms.lazy(ms.tensor(a))
    y, total = A @ x, (A @ x).sum()
    np.testing.assert_array_equal(y.compute(), a @ x)
    np.testing.assert_array_equal(np.asarray(y), a @ x)
    np.testing.assert_array_equal(np.asarray(A * 2, dtype=np.float32), np.float32(2 * a))
    expected = (a @ x).sum()
    assert (float(total), int(total), complex(total), total.item()) == (expected, int(expected), expected, expected)
    assert bool(total == expected)
    assert len(computed) == 8
    assert type(total.compute()) is np.float64


def test_computing_twice_reuses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    for one, name in ((together._ReadyValues, "values"), (together._KnownCall, "value")):
        own = getattr(one, name)
        monkeypatch.setattr(one, name, lambda self, given, own=own: called.append(self.kernel) or own(self, given))
    a, x = dense(4, 5), dense(5)
    y = (ms.lazy(ms.tensor(a)) @ x).sum()
    y.compute()
    x += 1  # operands are not copied
    assert y.compute() == (a @ x).sum()
    again = (ms.lazy(ms.tensor(a + 0)) @ dense(5)).sum()
    again.compute()
    assert len(called) == 3
    assert len(set(map(id, called))) == 1


def test_results_are_new() -> None:
    x = dense(5)
    doubled = ms.lazy(x) * 2
    first = doubled.compute()
    first[:] = 0
    np.testing.assert_array_equal(doubled.compute(), 2 * x)


def test_operands_are_not_copied() -> None:
    x, F = dense(5), np.asfortranarray(dense(4, 5))
    assert ms.lazy(x).compute() is x
    assert np.shares_memory(ms.lazy(F).compute(), F)
    A = ms.tensor(dense(4, 5))
    assert ms.lazy(A).compute() is A
    read_only = x[::-1]
    read_only.flags.writeable = False
    np.testing.assert_array_equal((ms.lazy(read_only) + 1).compute(), read_only + 1)


# -- plans ---------------------------------------------------------------------------------------------------------


def statements(*expressions: ms.LazyArray) -> list[str]:
    kernel = together.kernel_of(expressions)
    assert kernel is not None
    return [str(one.spec.planned) for one in kernel.kernels]


def test_a_product_that_is_summed_is_never_made(large: dict[str, ms.SparseTensor]) -> None:
    A, B = map(ms.lazy, large.values())
    assert statements((A @ B).sum()) == ["t1 = sum(i0, k : a0(i0,k) * t1.part(k))"]
    x = np.ones(N)
    assert statements(A @ B @ x) == ["t1(m) = sum(k1 : a0(m,k1) * t1.part(k1))"]
    expected = large["A"].to_scipy() @ (large["B"].to_scipy() @ x)
    np.testing.assert_array_equal((A @ B @ x).compute(), expected)
    assert float((A @ B).sum()) == expected.sum()


def test_what_expressions_share_is_computed_once(large: dict[str, ms.SparseTensor]) -> None:
    A, x = large["A"], np.ones(N)
    y = ms.lazy(A) @ x
    unit = y / np.linalg.norm(ms.lazy(A) @ x)  # an equal step, recorded twice
    assert [one.partition(" = ")[0] for one in statements(unit)] == ["t0(m)", "t2", "t3", "t4(i0)"]
    first, second, third = ms.compute(unit, y, y)
    product = A.to_scipy() @ x
    np.testing.assert_allclose(first, product / np.linalg.norm(product))
    np.testing.assert_array_equal(second, product)
    np.testing.assert_array_equal(third, product)


def test_elementwise_steps_are_one_loop() -> None:
    x, z = ms.lazy(dense(5)), dense(5)
    assert len(statements(np.sqrt(abs(x * 2 - z) + 1))) == 1
    assert len(together.kernel_of([np.sqrt(abs(x * 2 - z) + 1)], "off").kernels) == 5


def test_compute_of_operands_and_others() -> None:
    x = dense(5)
    one, two, three = ms.compute(ms.lazy(x), ms.lazy(x) + 1, ms.lazy(3.0))
    assert one is x
    np.testing.assert_array_equal(two, x + 1)
    assert three == 3.0
    with pytest.raises(ms.OperandError, match="expected lazy expressions to compute, but got ndarray"):
        ms.compute(x)  # type: ignore[arg-type]
    assert "computed already" in ms.lazy(x).explain()
    assert "t0(i0) = a0(i0) + 1" in (ms.lazy(x) + 1).explain()
    np.testing.assert_array_equal((ms.lazy(x) + 1).compute(optimize="off", threads=1, deterministic=True), x + 1)


def test_deep_expressions() -> None:
    x = ms.lazy(np.zeros(3))
    for _ in range(40):
        x = x + 1
    np.testing.assert_array_equal(x.compute(), np.full(3, 40.0))


# -- other libraries' operands, on either side -----------------------------------------------------------------------


def test_operands_of_all_kinds_on_either_side(computed: list[int]) -> None:
    a, x = dense(4, 4), dense(4)
    sparse, lazily = ms.tensor(a), ms.lazy(x)
    cases: list[tuple[Any, Array]] = [
        (sparse @ lazily, a @ x),
        (lazily @ sparse, x @ a),
        (a @ lazily, a @ x),
        (sparse * lazily, a * x),
        (np.add(sparse, lazily), a + x),
        (x + lazily, x + x),
        (2 - lazily, 2 - x),
        (np.float64(2) * lazily, 2 * x),
        (np.where(sparse > 0, lazily, 0), np.where(a > 0, x, 0)),
        (np.einsum("ij,j->i", sparse, lazily), a @ x),
        (ms.lazy(sp.csr_array(a)) @ x, a @ x),
    ]
    assert not computed
    for found, expected in cases:
        assert isinstance(found, ms.LazyArray)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_in_place_operators_record_a_new_expression() -> None:
    x = dense(4)
    first = second = ms.lazy(x)
    second += 1
    np.testing.assert_array_equal(first.compute(), x)
    np.testing.assert_array_equal(second.compute(), x + 1)
    with pytest.raises(ms.UnsupportedError, match=r"expected no out= .* call \.compute\(\) first"):
        x += first


# -- defined tensors -------------------------------------------------------------------------------------------------


def test_defined_tensors_are_planned_with_the_rest() -> None:
    U, V, x = dense(N, 3), dense(N, 3) + 1, np.ones(N)
    A = ms.define("A(i,j) = U(i,k) * V(j,k)", U=U, V=V)
    y = ms.lazy(A) @ x
    assert statements(y) == ["t1(m) = sum(k0 : a0(m,k0) * t1.part(k0))"]
    np.testing.assert_array_equal(y.compute(), U @ (V.T @ x))
    U[:] += 1  # operands are read at each computation
    np.testing.assert_array_equal(y.compute(), U @ (V.T @ x))
    np.testing.assert_array_equal((A @ ms.lazy(x)).compute(), U @ (V.T @ x))


def test_kinds_of_definitions() -> None:
    P, b = np.array([2, 0, 1]), dense(3, 4)
    rows = ms.define("A(i,j) = B(P(i),j)", B=ms.tensor(b), P=P)
    np.testing.assert_array_equal((ms.lazy(rows) @ np.ones(4)).compute(), b[P] @ np.ones(4))
    P[:] = [0, 0, 2]
    np.testing.assert_array_equal((ms.lazy(rows) @ np.ones(4)).compute(), b[P] @ np.ones(4))
    diagonal = ms.define("A(i,j) = d(i) if i == j", d=np.arange(4.0), shape=(4, 4))
    np.testing.assert_array_equal(np.asarray(ms.lazy(diagonal)), np.diag(np.arange(4.0)))
    t = np.arange(9.0)  # no operand has the extents: each computation makes the tensor
    toeplitz = ms.lazy(ms.define("A(i,j) = t(i - j + n)", t=t, n=4, shape=(5, 4))) @ np.ones(4)
    for _ in range(2):
        places = np.arange(5)[:, None] - np.arange(4) + 4
        np.testing.assert_array_equal(toeplitz.compute(), t[places].sum(axis=1))
        t += 1


# -- refusals --------------------------------------------------------------------------------------------------------

V, M, S = ms.lazy(dense(4)), ms.lazy(dense(4, 4)), ms.lazy(ms.tensor(dense(4, 4)))
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a loop": (lambda: list(V), ms.UnsupportedError, "whose parts are not recorded"),
    "in": (lambda: 1 in V, ms.UnsupportedError, "expected no `in`"),
    "an element": (lambda: V[0], ms.UnsupportedError, "None, ... and whole slices"),
    "a slice": (lambda: M[:2], ms.UnsupportedError, "None, ... and whole slices"),
    "an assignment": (lambda: V.__setitem__(0, 1), ms.UnsupportedError, "np.where"),
    "a function": (lambda: np.sort(V), ms.UnsupportedError, "np.einsum, .*, but got np.sort"),
    "an argument": (lambda: np.sum(V, where=V > 0), ms.UnsupportedError, "expected no where="),
    "a method": (lambda: V.cumsum(), ms.UnsupportedError, "but got .cumsum"),
    "a ufunc": (lambda: np.floor_divide(V, 2), ms.UnsupportedError, "but got np.floor_divide"),
    "a ufunc's method": (lambda: np.multiply.outer(V, V), ms.UnsupportedError, "but got np.multiply.outer"),
    "powers of integers": (lambda: ms.lazy(np.arange(3)) ** 3, ms.UnsupportedError, "or squares, but got int64"),
    "two results": (lambda: np.divmod(V, 2), ms.UnsupportedError, "but got np.divmod"),
    "out": (lambda: np.add(V, 1, out=np.zeros(4)), ms.UnsupportedError, "expected no out="),
    "stacks": (lambda: M[None] @ M, ms.UnsupportedError, "expected vectors and matrices for @"),
    "a number": (lambda: V @ 2, ms.RankError, "use \\* for that"),
    "inner extents": (lambda: M @ np.ones(3), ms.ExtentError, "got 4 and 3"),
    "broadcasting": (lambda: V + np.ones(3), ms.ExtentError, "shapes that broadcast"),
    "a sparse divisor": (lambda: V / S, ms.UnsupportedError, "without missing entries"),
    "division by 0": (lambda: S / 0, ms.UnsupportedError, "nonzero number"),
    "infinity times": (lambda: S * np.inf, ms.UnsupportedError, "finite number"),
    "many are true": (lambda: bool(V > 0), ms.OperandError, "one element to be true or false"),
    "a float of many": (lambda: float(V), ms.RankError, "one element"),
    "the length of a number": (lambda: len(V.sum()), ms.RankError, "one dimension or more"),
    "text": (lambda: ms.lazy("a"), ms.OperandError, "expected an array or tensor of numbers"),
    "objects": (lambda: ms.lazy(np.array([None])), ms.SparseError, "expected"),
    "a smaller type": (lambda: V.astype(np.float32), ms.UnsupportedError, "holds all numbers"),
    "complex order": (lambda: V * 1j < 2, ms.UnsupportedError, "expected an ordered element type"),
    "a norm": (lambda: np.linalg.norm(M, axis=0), ms.UnsupportedError, "norm over all axes"),
    "einsum of lists": (lambda: np.einsum(V, [0], [0]), ms.UnsupportedError, "subscripts as text"),
    "einsum of extents": (lambda: np.einsum("i,i", V, np.ones(3)), ms.ExtentError, "one extent"),
    "no copy": (lambda: np.asarray(S, copy=False), ValueError, "copy=False"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, computed: list[int]) -> None:
    run, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        run()
    assert len(computed) <= (case == "no copy")


def test_comparisons_with_nothing_and_text() -> None:
    assert (V == None) is False  # noqa: E711
    assert (V != "a") is True
    with pytest.raises(TypeError):
        hash(V)
    np.testing.assert_array_equal(copy.copy(V).compute(), dense(4))


def test_item_takes_places_as_numpys() -> None:
    A = np.array([[0.0, 5.0], [7.0, 0.0]])
    for lazy in (ms.lazy(ms.tensor(A)), ms.lazy(A), ms.lazy(ms.tensor(A)) * 1.0):
        assert [lazy.item(1), lazy.item(-1, 0), lazy.item((1, 1))] == [A.item(1), A.item(-1, 0), A.item((1, 1))]
    with pytest.raises(ms.IndexRangeError):
        ms.lazy(ms.tensor(A)).item(4)
