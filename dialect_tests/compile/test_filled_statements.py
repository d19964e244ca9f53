"""Statements that read tensors with a fill value, beside NumPy on arrays, for random data of each element type."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.definitions.filled_operands import definition_of

INF, NAN = np.inf, np.nan
KINDS = [
    *(("f8", fill) for fill in (3.0, INF, -INF, NAN, -0.0, 0.1)),
    *(("f4", 0.1), ("f4", INF), ("f2", 2.0), ("c16", 1 + 2j), ("?", True)),
    *(("i8", -5), ("i4", 2**31 - 1), ("i4", -(2**31)), ("i2", 7), ("i1", 127), ("u1", 255), ("u8", 3)),
]
STORAGES = ("CSR", "CSC", "DCSR", "COO")
X = np.arange(1, 7)


def data(kind: str, fill: Any, shape: tuple[int, ...] = (5, 6), seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    dense = np.full(shape, fill).astype(kind)
    there = rng.random(shape) < 0.3
    dense[there] = rng.integers(0, 4, int(there.sum())).astype(kind)
    return dense


def same(found: Any, wanted: Any, what: object) -> None:
    dense = found.to_numpy() if isinstance(found, ms.SparseTensor | ms.FilledTensor) else np.asarray(found)
    assert dense.dtype == np.asarray(wanted).dtype, what
    np.testing.assert_allclose(dense, wanted, rtol=2e-2 if dense.dtype == np.float16 else 1e-5, err_msg=str(what))


STATEMENTS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "by a vector": ("y(i) = A(i,j) * x(j)", lambda A, x: A @ x),
    "transposed": ("y(j) = A(i,j) * z(i)", lambda A, x: x[:5] @ A),
    "scaled": ("B(i,j) = A(i,j) * x(j)", lambda A, x: A * x),
    "added": ("B(i,j) = A(i,j) + x(j)", lambda A, x: A + x),
    "least": ("y(i) = min(j : A(i,j))", lambda A, x: A.min(axis=1)),
    "greatest": ("y(j) = max(i : A(i,j))", lambda A, x: A.max(axis=0)),
    "compared": ("B(i,j) = A(i,j) > x(j)", lambda A, x: x < A),
    "chosen": ("B(i,j) = where(A(i,j) == x(j), x(j), A(i,j))", lambda A, x: np.where(x == A, x, A)),
    "row": ("y(j) = A(3,j)", lambda A, x: A[3]),
    "times itself": ("B(i,j) = A(i,j) * A(i,j)", lambda A, x: A * A),
    "copied": ("B(j,i) = A(i,j)", lambda A, x: A.T),
    "gathered": ("B(i,j) = A(I(i),j)", lambda A, x: A[[4, 0, 0, 2]]),
    "conditional": ("B(i,j) = A(i,j) if j <= i", lambda A, x: np.tril(A)),
}


@pytest.mark.parametrize(("kind", "fill"), KINDS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_read_the_fill_value(name: str, kind: str, fill: Any) -> None:
    text, reference = STATEMENTS[name]
    if kind == "c16" and name in ("least", "greatest", "compared"):
        return  # complex numbers have no order
    if kind == "?" and name in ("by a vector", "transposed", "conditional"):
        return  # in notation, sums of truth values count, and a condition gives numbers
    dense = data(kind, fill)
    x = X.astype(kind)
    given = {"x": x, "z": x[:5], "I": np.array([4, 0, 0, 2])}
    operands = {key: value for key, value in given.items() if re.search(rf"\b{key}\(", text)}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = reference(dense, x)
        for storage in STORAGES[:: 3 if kind != "f8" else 1]:
            A = ms.tensor(dense, storage, fill_value=fill)
            found = ms.evaluate(text, A=A, **operands)
            same(found, wanted, (name, kind, fill, storage))
            same(ms.evaluate(text, A=A, **operands), wanted, (name, kind, fill, storage, "again"))


@pytest.mark.parametrize("shape", [(0, 6), (5, 0), (1, 6), (5, 1), (1, 1)])
@pytest.mark.parametrize("fill", [2.5, INF, 3])
def test_extents_of_none_and_one(shape: tuple[int, int], fill: Any) -> None:
    kind = "i8" if fill == 3 else "f8"
    dense, x = data(kind, fill, shape), X[: shape[1]].astype(kind)
    A = ms.tensor(dense, fill_value=fill)
    if shape[1]:
        same(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), dense @ x, shape)
    same(ms.evaluate("s = A(i,j)", A=A), dense.sum(), shape)
    same(A @ x, dense @ x, shape)


def test_products_of_numpys() -> None:
    rng = np.random.default_rng(5)
    for kind, fill in (("f8", 2.0), ("f8", 0.1), ("i8", -3), ("f4", 1.0), ("c16", 1j), ("u1", 200)):
        dense, other = data(kind, fill, (4, 4)), data(kind, 0, (4, 4), 1)
        A, B = ms.tensor(dense, fill_value=fill), ms.tensor(other)
        C = ms.tensor(data(kind, fill, (4, 4), 2), fill_value=fill)
        full, v = C.to_numpy(), rng.integers(0, 5, 4).astype(kind)
        pairs = [(A @ v, dense @ v), (v @ A, v @ dense), (A @ B, dense @ other), (B @ A, other @ dense)]
        pairs += [(A @ C, dense @ full), (A @ other, dense @ other), (other @ A, other @ dense), (A.dot(v), dense @ v)]
        pairs += [
            (np.dot(B, A), other @ dense),
            (np.inner(A, C), np.inner(dense, full)),
            (A[0] @ A[1], dense[0] @ dense[1]),
        ]
        pairs += [(np.tensordot(A, B), np.tensordot(dense, other)), (np.vdot(A, A), np.vdot(dense, dense))]
        pairs += [(np.tensordot(A, B, 1), dense @ other), (np.tensordot(A, C, ([0], [1])), dense.T @ full.T)]
        pairs += [(np.kron(A, B), np.kron(dense, other)), (np.outer(A, v), np.outer(dense, v))]
        pairs += [(np.einsum("ij,kj->ik", A, C), dense @ full.T), (ms.einsum("ij,j", A, v), dense @ v)]
        for found, wanted in [*pairs, (np.matmul(A, v, out=np.empty(4, kind)), dense @ v)]:
            same(found, wanted, (kind, fill))
    for call in (lambda: A @ np.ones(5), lambda: A @ 2, lambda: np.tensordot(A, np.ones((3, 3)))):
        with pytest.raises(ms.SparseError):
            call()


def test_tensors_of_three_dimensions() -> None:
    for kind, fill in (("f8", INF), ("f8", 0.5), ("i8", 2)):
        dense = data(kind, fill, (3, 4, 5))
        for storage in ("CSF", "COO"):
            A = ms.tensor(dense, storage, fill_value=fill)
            same(ms.evaluate("B(i,j) = A(i,j,k) * x(k)", A=A, x=X[:5].astype(kind)), dense @ X[:5].astype(kind), kind)
            same(ms.evaluate("y(k) = min(i, j : A(i,j,k))", A=A), dense.min(axis=(0, 1)), kind)


def test_integers_take_no_loop_over_all_elements() -> None:
    A = ms.full((10**6, 10**6), 3, stored=False)
    x = np.arange(10**6)
    np.testing.assert_array_equal(A @ x, np.full(10**6, 3 * x.sum()))
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=x), np.full(10**6, 3 * x.sum()))
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j)", A=A), np.full(10**6, 3 * 10**6))
    assert definition_of(A).notation == "A(d0,d1) = D(d0,d1) + F0(d0) * F1(d1)"
    wide = ms.tensor(np.array([[-(2**63), 5]]), fill_value=5)
    assert "where" in definition_of(wide).notation  # the difference leaves the type
    np.testing.assert_array_equal(wide @ np.array([1, 1]), [-(2**63) + 5])


def test_integers_beside_other_types() -> None:
    dense = data("i4", -5, (5, 6))
    for storage in STORAGES:
        A = ms.tensor(dense, storage, fill_value=-5)
        for kind in ("i8", "f8", "i2", "c16"):
            x = X.astype(kind)
            same(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), dense @ x, kind)
            same(ms.evaluate("B(i,j) = A(i,j) * A(i,j) + x(j)", A=A, x=x), dense * dense + x, kind)
            same(A @ x, dense @ x, kind)
        same(ms.evaluate("B(i,j) = 0.5 * A(i,j)", A=A), 0.5 * dense, "a number")
        same(ms.evaluate("B(i,j) = c * A(i,j)", A=A, c=0.5), 0.5 * dense, "an operand")
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=X.astype("f8"))
    np.testing.assert_allclose(kernel(A, X.astype("f8")), dense @ X)


def test_numbers_cancel_where_a_statement_may() -> None:
    A = ms.full((10**6, 10**6), 0.5, stored=False)
    x = np.ones(10**6)
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, optimize="algebra"), 5e5)
    tiny = ms.tensor(np.array([[1e-20, 1.0]]), fill_value=1.0)
    assert (tiny @ np.array([1.0, 0.0]))[0] == 1e-20


# -- semirings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", STORAGES)
def test_a_semirings_zero_is_not_made_dense(storage: str) -> None:
    dense = np.full((5, 5), INF)
    dense[0, 1], dense[1, 2], dense[2, 3], dense[0, 3] = 2.0, 3.0, 1.0, 0.0
    G = ms.tensor(dense, storage, fill_value=INF)
    wanted = (dense[:, :, None] + dense[None]).min(axis=1)
    found = ms.evaluate("D(i,j) = G(i,k) * G(k,j)", G=G, semiring="min_plus")
    assert isinstance(found, ms.FilledTensor)
    assert (found.fill_value, found.nse) == (INF, 2)
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    start = np.array([0.0, *[INF] * 4])
    reached = ms.evaluate("d(j) = G(i,j) * s(i)", G=G, s=start, semiring="min_plus")
    np.testing.assert_array_equal(reached, (dense + start[:, None]).min(axis=0))
    huge = ms.full((10**6, 10**6), INF, stored=False, encoding="DCSR")
    assert ms.evaluate("D(i,j) = G(i,k) * G(k,j)", G=huge, semiring="min_plus").nse == 0


def test_zeros_of_semirings_by_type() -> None:
    for ring, kind, zero in (
        *(("min_plus", "i8", 2**63 - 1), ("max_plus", "f4", -INF), ("max_min", "i4", -(2**31)), ("min_max", "u1", 255)),
        *(("and_or", "?", True), ("min_plus", "f8", INF)),
    ):
        dense = data(kind, zero, (4, 4))
        A = ms.tensor(dense, fill_value=zero)
        found = ms.evaluate("B(i,j) = A(i,j) + A(i,j)", A=A, semiring=ring)
        assert found.fill_value == np.asarray(zero, kind)
        np.testing.assert_array_equal(found.to_numpy(), dense)
        with pytest.raises(ms.UnsupportedError, match=f"the zero of {ring}, for A, but got 1"):
            ms.evaluate("y(i) = A(i,j)", A=A.with_fill(1), semiring=ring) if kind != "?" else _refused(ring)


def _refused(ring: str) -> None:
    raise ms.UnsupportedError(f"the zero of {ring}, for A, but got 1")  # truth values have no third value


# -- kernels, and what is refused -------------------------------------------------------------------------------------


def test_kernels_take_what_they_were_compiled_for() -> None:
    dense = data("f8", 2.5, (4, 4))
    A, x = ms.tensor(dense, fill_value=2.5), np.ones(4)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    np.testing.assert_allclose(kernel(A, x), dense @ x)
    np.testing.assert_allclose(kernel(A=A.with_fill(7.0), x=x), A.with_fill(7.0).to_numpy() @ x)
    np.testing.assert_allclose(kernel(A.with_fill(NAN), x), A.with_fill(NAN).to_numpy() @ x)
    with pytest.raises(ms.OperandError, match="definition"):
        kernel(A.stored, x)
    with pytest.raises(ms.OperandError, match="definition"):
        kernel(A.astype("f32"), x)
    whole = ms.tensor(np.array([[-(2**63), 5]]), fill_value=5)
    sums = ms.compile("y(i) = A(i,j)", A=ms.tensor(np.array([[4, 5]]), fill_value=5))
    with pytest.raises(ms.OperandError, match="definition"):
        sums(whole)
    chosen = ms.compile("y(i) = A(i,j)", A=whole)
    assert chosen(ms.tensor(np.array([[4, 5]]), fill_value=5)).tolist() == [9]


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = B(i,j) * x(j) if A(i,j)",
        "y(i) = B(i,j) * x(j) if not A(i,j)",
        "C(i,j) = stored(exp(A(i,j)))",
        "C(i,j) = stored(A(i,j) + B(i,j))",
    ],
)
def test_what_asks_for_entries_is_refused(text: str) -> None:
    A, B = ms.tensor(data("f8", 2.0, (4, 4)), fill_value=2.0), ms.tensor(np.eye(4))
    operands = {name: one for name, one in {"A": A, "B": B, "x": np.ones(4)}.items() if f"{name}(" in text}
    with pytest.raises(ms.UnsupportedError, match=r"what is stored.*A\.stored for its entries, or A\.to_numpy"):
        ms.evaluate(text, **operands)
    with pytest.raises(ms.UnsupportedError, match="which ask what is stored"):
        ms.compile(text, **operands)


def test_other_refusals_name_the_way_out() -> None:
    A, x = ms.tensor(data("f8", INF, (4, 4)), fill_value=INF), np.ones(4)
    with pytest.raises(ms.UnsupportedError, match="A on a GPU"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, target="cuda")
    with pytest.raises(ms.UnsupportedError, match=r"a kernel under min_plus.*compile for A\.stored"):
        ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, semiring="min_plus")
    with pytest.raises(ms.UnsupportedError, match="the zero of max_plus"):
        ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, semiring="max_plus")
    with pytest.raises(ms.UnknownTensorError):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A)
    with pytest.raises(ms.SparseError):
        ms.evaluate("A(i,j) = B(i,j)", B=np.ones((4, 4)), A=A)
    both = ms.operator(lambda a, b: a + b)
    with pytest.raises(ms.UnsupportedError, match="which ask what is stored"):
        ms.evaluate("C(i,j) = f(A(i,j), B(i,j))", A=A, B=ms.tensor(np.eye(4)), f=both)


def test_programs_and_lazy_expressions_read_it() -> None:
    dense = data("f8", 2.5, (4, 4))
    A, x = ms.tensor(dense, fill_value=2.5), np.arange(4.0)
    text = "def f(double(M,N) A, double(N) x) -> (y, s) { y(i) +=! A(i,j) * x(j) s() +=! y(i) }"
    y, s = ms.evaluate(text, A=A, x=x)
    np.testing.assert_allclose(y, dense @ x)
    np.testing.assert_allclose(s, (dense @ x).sum())
    S = ms.lazy(A)
    np.testing.assert_allclose((S @ x + 1).compute(), dense @ x + 1)
    np.testing.assert_allclose(ms.compute((S * 2).sum()), 2 * dense.sum())
    np.testing.assert_allclose(np.asarray(ms.lazy(ms.tensor(np.eye(4))) + A), dense + np.eye(4))
    L = ms.define("L(i,j) = A(i,j) + 1.0", A=A.to_numpy())
    np.testing.assert_allclose(L @ A, (dense + 1) @ dense)
