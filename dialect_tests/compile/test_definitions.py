"""Defined tensors against the arrays that they stand for."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.definition_cases import DEFINITIONS, STATEMENTS, Defined, sparse_array


def as_array(found: Any) -> Any:
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else found


def kind_of(define: Callable[..., Defined]) -> str:
    """Returns what stands for a definition in statements: products, selections, patterns or sums of subscripts."""
    kinds = {"packed_triangle": "pattern", "banded": "pattern", "toeplitz": "sum"}
    products = ("low_rank", "sparse_plus_low_rank", "scaled", "join_of_joins")
    return kinds.get(define.__name__) or ("product" if define.__name__ in products else "selection")


def form_of(text: str) -> str:
    """Returns what a statement does with its operands: products that are summed, entries alone, functions."""
    return "sampled" if "S(" in text or "A(i,i)" in text else "function" if "abs" in text else "sums"


@crossed({"define": kind_of, "text": form_of}, define=DEFINITIONS, text=STATEMENTS, extent=(7, 1, 0))
def test_statements_give_what_the_array_gives(define: Callable[..., Defined], text: str, extent: int) -> None:
    rng = np.random.default_rng(extent)
    A, dense = define(rng, extent)
    rows, columns = dense.shape
    if "A(i,i)" in text and rows != columns:
        return
    assert (A.shape, A.dtype, A.ndim) == (dense.shape, dense.dtype, 2)
    x, z = rng.integers(-3, 4, columns).astype(float), rng.integers(-3, 4, rows).astype(float)
    X, S = rng.integers(-3, 4, (columns, 2)).astype(float), sparse_array(rng, rows, columns)
    given = {name: value for name, value in {"x": x, "z": z, "X": X, "S": ms.tensor(S)}.items() if f"{name}(" in text}
    expected = STATEMENTS[text](dense, x, z, X, S)
    for _ in range(2):
        np.testing.assert_array_equal(as_array(ms.evaluate(text, A=A, **given)), expected)


@pytest.mark.parametrize("define", DEFINITIONS)
def test_the_tensor_is_made_where_it_is_asked_for(define: Callable[..., Defined]) -> None:
    for extent in (6, 1, 0):
        A, dense = define(np.random.default_rng(1), extent)
        np.testing.assert_array_equal(np.asarray(A), dense)
        made = ms.tensor(A, "DCSR")
        assert made.encoding.with_widths(0, 0) == ms.encoding("DCSR")
        np.testing.assert_array_equal(made.to_numpy(), dense)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(A)).toarray(), dense)


U, V = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])


def low_rank(**named: Any) -> ms.DefinedTensor:
    return ms.define("A(i,j) = U(i,k) * V(j,k)", **{"U": U, "V": V, **named})


def test_a_defined_tensor_says_what_it_is() -> None:
    A = low_rank()
    assert (A.shape, A.ndim, A.dtype, str(A.type)) == ((3, 2), 2, np.float64, "f64[3,2]")
    assert (A.notation, dict(A.operands)["U"] is U) == ("A(i,j) = U(i,k) * V(j,k)", True)
    assert repr(A) == "DefinedTensor f64[3,2]: A(i,j) = U(i,k) * V(j,k)"
    assert A == A
    assert low_rank() != A
    assert len({A, A, low_rank()}) == 2
    assert len(A) == 3


def test_changes_of_operands_are_seen() -> None:
    left, P = U.copy(), np.array([0, 1, 1])
    A, B = low_rank(U=left), ms.define("B(i,j) = U(P(i), j)", U=left, P=P)
    x = np.array([1.0, 1.0])
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    packed, full = np.arange(6.0), np.zeros((3, 3))
    lower = ms.define("T(i,j) = t(i*(i+1)/2 + j) if j <= i", t=packed, shape=(3, 3))
    upper = ms.define("T(i,j) = t(j*(j+1)/2 + i) if i <= j", t=packed, shape=(3, 3))
    for _ in range(3):
        left *= 2
        packed += 1
        P[:] = P[::-1]
        full[np.tril_indices(3)] = packed
        for triangle, expected in ((lower, full), (upper, full.T)):
            np.testing.assert_array_equal(ms.evaluate("y(i) = T(i,j)", T=triangle), expected.sum(axis=1))
            triangle.made().storage.values[:] = -1  # what is made is its own
        np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), left @ V.T @ x)
        np.testing.assert_array_equal(kernel(A, x), left @ V.T @ x)
        np.testing.assert_array_equal(ms.evaluate("y(i) = B(i,j) * x(j)", B=B, x=x), left[P] @ x)


def test_kernels_take_other_tensors_of_one_definition_and_no_others() -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=low_rank(), x="f64[?]")
    other = low_rank(U=np.ones((4, 2)))
    np.testing.assert_array_equal(kernel(other, np.ones(2)), [2.0] * 4)
    np.testing.assert_array_equal(kernel(x=np.ones(2), A=other), [2.0] * 4)
    y = np.zeros(4)
    assert kernel(other, np.ones(2), out=y) is y
    assert kernel.output.rank == 1
    for wrong in (np.ones((3, 2)), ms.define("A(i,j) = U(i,j) * 2", U=np.ones((3, 2)))):
        with pytest.raises(ms.OperandError, match=r"expected A with the definition .* compile for it"):
            kernel(wrong, np.ones(2))
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor x"):
        kernel(other)
    with pytest.raises(ms.UnsupportedError, match="its `kernel`"):
        kernel.save("anywhere")


def test_operands_by_position_are_those_by_name() -> None:
    A, x = low_rank(), np.array([1.0, 2.0])
    made = ms.define("B(i,j) = A(i,j)", A=A)  # which keeps the tensor as an operand of its own
    for text, given in [
        ("y(i) = x(j) * A(i,j)", {"x": x, "A": A}),
        ("y(i) = B(i,j) * x(j) + A(i,j) * x(j)", {"B": made, "A": A, "x": x}),
        ("y(i) = max(j : A(i,j) * x(j))", {"A": A, "x": x}),
        ("y(i) += A(i,j) * x(j)", {"y": np.ones(3), "A": A, "x": x}),
    ]:
        kernel = ms.compile(text, **given)
        arrays = {name: np.asarray(one) for name, one in given.items()}
        expected = ms.evaluate(text, **arrays, optimize="off")
        for _ in range(3):
            np.testing.assert_array_equal(kernel(**given), expected)
            np.testing.assert_array_equal(kernel(*[given[name] for name in kernel.parameters]), expected)
            first = kernel.parameters[0]
            rest = {name: one for name, one in given.items() if name != first}
            np.testing.assert_array_equal(kernel(given[first], **rest), expected)
        with pytest.raises(ms.ExtentError):
            kernel(**{**given, "x": np.ones(5)})


def test_explain_shows_the_composition() -> None:
    explained = ms.compile("y(i) = A(i,j) * x(j)", A=low_rank(), x=np.ones(2)).explain()
    assert explained.startswith("composed: y(i) = sum(k : U(i,k) * V(j,k)) * x(j)\n  A: A(i,j) = U(i,k) * V(j,k)\n")
    made = ms.compile("y(i) = A(i,j) * x(j)", A=low_rank(), x=np.ones(2), semiring="min_plus").explain()
    assert made.startswith("A: A(i,j) = U(i,k) * V(j,k); made first, because the statement is computed under min_plus")


def test_large_products_are_not_made() -> None:
    rng = np.random.default_rng(0)
    left, right, x = rng.random((2000, 4)), rng.random((2000, 4)), rng.random(2000)
    A = low_rank(U=left, V=right)
    explained = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=x).explain()
    assert "rewritten:" in explained
    parts = [line for line in explained.splitlines() if line.startswith("    with ")]
    assert parts
    assert all(line.partition("=")[0].count(",") == 0 or "U" not in line for line in parts[:1])
    expected = left @ (right.T @ (left @ (right.T @ x)))
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=x), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("optimize", ["auto", "off"])
def test_elements_that_are_not_made_are_not_rounded(dtype: str, optimize: str) -> None:
    element, rng = ms.DType.of(dtype).numpy, np.random.default_rng(0)
    U, V, x = (rng.random(shape).astype(element) for shape in ((40, 3), (50, 3), (50,)))
    A = ms.define("A(i,j) = U(i,k) * V(j,k)", U=U, V=V)
    exact = U.astype(float) @ (V.astype(float).T @ x.astype(float))
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, optimize=optimize)
    assert found.dtype == element
    np.testing.assert_allclose(found.astype(float), exact, rtol=2e-2)
    wide = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x.astype(float), optimize=optimize)
    np.testing.assert_allclose(wide, exact, rtol=1e-14)
    rounded = ms.evaluate("y(i) = A(i,j) * x(j)", A=A.made(), x=x.astype(float))
    assert np.abs(rounded - exact).max() > 1e-9


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_wrap_as_they_do_in_the_tensor_made(dtype: str) -> None:
    low, high = np.iinfo(dtype).min // 2, np.iinfo(dtype).max // 2
    rng = np.random.default_rng(0)
    U, V, x = (rng.integers(low, high, shape).astype(dtype) for shape in ((9, 3), (8, 3), (8,)))
    A = ms.define("A(i,j) = U(i,k) * V(j,k)", U=U, V=V)
    for text, other in (("y(i) = A(i,j) * x(j)", x), ("y(i) = A(i,j) * x(j)", x.astype(np.int64))):
        expected = ms.evaluate(text, A=A.made(), x=other)
        np.testing.assert_array_equal(ms.evaluate(text, A=A, x=other), expected)


def test_names_of_the_statement_are_its_own() -> None:
    A, k, p = low_rank(), np.array([1.0, 2.0]), np.array(2.0)
    np.testing.assert_array_equal(ms.evaluate("U(k) = A(k,V) * k1(V) * p", A=A, k1=k, p=p), 2 * (U @ V.T @ k))
    named = ms.define("A(i,j) = out(i,k) * optimize(j,k)", out=U, tensors={"optimize": V})
    np.testing.assert_array_equal(ms.evaluate("y(i) = out(i,j) * x(j)", tensors={"out": named}, x=k), U @ V.T @ k)


@pytest.mark.parametrize("text", ["y(i) = A(2*i,j) * x(j)", "y(i) = A(P(i),j) * x(j)", "y(i) = A(P(i),1) + x(0)"])
def test_subscripts_of_statements_go_through_definitions(text: str) -> None:
    P, x = np.array([2, 0, 0, 1]), np.array([1.0, 3.0])
    given = {"P": P} if "P" in text else {}
    for A in (low_rank(), ms.define("A(i,j) = t(i - j + 1)", t=np.arange(4.0), shape=(3, 2))):
        expected = ms.evaluate(text, A=A.toarray(), x=x, **given)
        np.testing.assert_array_equal(ms.evaluate(text, A=A, x=x, **given), expected)


def test_other_semirings_operators_and_masks_read_the_tensor_made() -> None:
    rng = np.random.default_rng(3)
    B, d = sparse_array(rng, 5, 5), rng.integers(1, 5, 5).astype(float)
    A, x = ms.define("A(i,j) = d(i) * B(i,j)", B=ms.tensor(B), d=d), np.arange(5.0)
    made = ms.tensor(d[:, None] * B)
    keep = ms.operator(lambda a, b: a - b)
    for text, options in (
        ("y(i) = A(i,j) * x(j)", {"semiring": "min_plus"}),
        ("Y(i,j) = x(j) if A(i,j)", {}),
        ("Y(i,j) = keep(A(i,j), x(j))", {"keep": keep}),
        ("y(i) = max(j : A(i,j))", {}),
        ("y(i) = max(j : stored(A(i,j) >= 0))", {}),
        ("y(i) = A(i,j) * x(j) where j in 1:4", {}),
        ("def f(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }", {}),
    ):
        given = {} if "max(" in text else {"x": x}
        found, expected = (ms.evaluate(text, A=one, **given, **options) for one in (A, made))
        np.testing.assert_array_equal(as_array(found), as_array(expected))
    np.testing.assert_array_equal(ms.einsum("ij,j->i", A, x), made @ x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "complex128", "bool", "float16"])
def test_element_types_are_those_of_the_array(dtype: str) -> None:
    rng = np.random.default_rng(5)
    left, right = (rng.integers(-100, 100, (4, 3)).astype(dtype) for _ in "UV")
    for text, expected in (
        ("A(i,j) = U(i,j) * V(i,j)", left * right),
        ("A(i,j) = U(P(i),j)", left[[3, 3, 0, 1]]),
        ("A(i,j) = U(i,j) if i <= j", np.triu(left)),
    ):
        operands = {name: value for name, value in (("V", right), ("P", np.array([3, 3, 0, 1]))) if f"{name}(" in text}
        A = ms.define(text, U=left, **operands)
        assert A.dtype == dtype
        np.testing.assert_array_equal(A.toarray(), expected)
        for other in (np.ones(3), np.ones(3, dtype)) if "*" in text else (np.ones(3),):
            given = {"A": expected, "x": other}
            wanted = ms.evaluate("y(i,j) = A(i,j) * x(j)", **given)
            found = ms.evaluate("y(i,j) = A(i,j) * x(j)", **{**given, "A": A})
            assert found.dtype == wanted.dtype
            if dtype == "float16":  # the product is rounded once where it is not made
                np.testing.assert_allclose(found, wanted, rtol=1e-3)
            else:
                np.testing.assert_array_equal(found, wanted)


def test_numbers_that_are_not_finite_stay_where_they_are() -> None:
    d = np.array([np.inf, np.nan, 1.0])
    A = ms.define("A(i,j) = where(i == j, d(i), 0)", d=d, shape=(3, 3))
    np.testing.assert_array_equal(A.toarray(), [[np.inf, 0, 0], [0, np.nan, 0], [0, 0, 1]])
    B = ms.define("B(i,j) = M(P(i),j)", M=np.array([[np.inf], [2.0]]), P=np.array([1, 1]))
    np.testing.assert_array_equal(ms.evaluate("y(i) = B(i,j)", B=B), [2.0, 2.0])


def test_arrays_in_any_form_are_read() -> None:
    wide = np.arange(24.0).reshape(4, 6)
    read_only = np.array([[1.0, 2.0]] * 3)
    read_only.flags.writeable = False
    A = low_rank(U=wide[::2, ::3], V=read_only)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j)", A=A), (wide[::2, ::3] @ read_only.T).sum(axis=1))
    wide *= 2
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j)", A=A), (wide[::2, ::3] @ read_only.T).sum(axis=1))
    lists = ms.define("A(i,j) = B(P(i),j)", B=[[1, 2], [3, 4]], P=[1, 0, 1])
    np.testing.assert_array_equal(lists.toarray(), [[3, 4], [1, 2], [3, 4]])


def test_declared_extents_are_those_of_each_tensor() -> None:
    """Definitions that differ in extents which no operand has are composed apart, in statements, kernels and lazily."""
    for rows, columns in ((6, 6), (3, 3), (3, 6), (6, 3)):
        x = np.arange(1.0, columns + 1)
        A = ms.define("A(i,j) = 2.0", shape=(rows, columns))
        B = ms.define("B(i,j) = x(j)", x=x, shape=(rows, columns))
        for one, value in ((A, np.full((rows, columns), 2.0)), (B, np.tile(x, (rows, 1)))):
            kernel = ms.compile("y(i) = A(i,j) * x(j)", A=one, x=x)
            for _ in range(2):
                np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=one, x=x), value @ x)
                np.testing.assert_array_equal(ms.evaluate("s = A(i,j)", A=one), value.sum())
            np.testing.assert_array_equal(kernel(one, x), value @ x)
            np.testing.assert_array_equal(ms.einsum("ij,j->i", one, x), value @ x)
            np.testing.assert_array_equal(np.asarray(ms.lazy(one) @ x), value @ x)


def test_large_results_on_several_threads() -> None:
    rng, n = np.random.default_rng(2), 150_000
    c, E = rng.integers(0, 50, n), rng.integers(-5, 5, (50, 4)).astype(float)
    A = ms.define("A(i,j) = 1 if c(i) == j", c=c, shape=(None, 50))
    for threads in (1, 2, 3):
        found = ms.evaluate("Y(i,k) = A(i,j) * E(j,k)", A=A, E=E, threads=threads)
        np.testing.assert_array_equal(found, E[c])
        sums = ms.evaluate("s(k) = A(i,j) * E(j,k)", A=A, E=E, threads=threads)
        np.testing.assert_array_equal(sums, E[c].sum(axis=0))


def test_writing_is_refused() -> None:
    A = low_rank()
    with pytest.raises(ms.OperandError, match="expected a tensor of data to write to, but got DefinedTensor"):
        A[0, 0] = 1.0
    with pytest.raises(ms.OperandError, match="for out, but got DefinedTensor"):
        ms.evaluate("y(i,j) = A(i,j)", A=A, out=A)
    with pytest.raises(ms.OperandError, match="expected a tensor of data as the result"):
        ms.evaluate("A(i,j) += B(i,j)", A=A, B=U @ V.T)
    with pytest.raises(ms.OperandError, match="for out, but got DefinedTensor"):
        ms.compile("y(i,j) = A(i,j)", A=A)(A, out=A)
    with pytest.raises(ms.UnsupportedError, match=r"pass ms.to_device\(ms.tensor\(A\)\)"):
        ms.compile("y(i,j) = A(i,j)", A=A, target="cuda:sm_90")


@pytest.mark.parametrize(
    ("text", "operands", "shape", "error", "words"),
    [
        ("A(i,j) = U(i,k) * V(j,k)", {"U": U}, None, ms.UnknownTensorError, "expected data for tensor V"),
        ("A(i,j) = U(i,j)", {"U": U, "V": V}, None, ms.UnknownTensorError, "but got V"),
        ("A(i,j) = U(i,j)", {"U": U, "n": 3}, None, ms.UnknownTensorError, "but got n"),
        ("A(i,j) = U(i,j)", {"U": U}, (3, 3), ms.ExtentError, "expected index j to range over one extent"),
        ("A(i,j) = U(i,j)", {"U": U}, (3,), ms.ExtentError, "2 extents"),
        ("A(i,j) = U(i,j)", {"U": U}, (3, -1), ms.ExtentError, "from 0 or None"),
        ("A(i,j) = U(i,j)", {"U": U}, 3, ms.OperandError, "extents or None in shape="),
        ("A(i,j) = x(i)", {"x": np.ones(2)}, None, ms.ExtentError, r"pass shape=\(None, n\)"),
        ("A(i) = t(i + 1)", {"t": np.ones(3)}, (3,), ms.ExtentError, r"stay within 0 to 2 \(axis 0\), but got 1 to 3$"),
        ("A(i) = t(i + 1, j)", {"t": np.ones(3)}, (2,), ms.RankError, "expected 1 subscripts for t"),
        ("A(i) = t(i / 0)", {"t": np.ones(3)}, (2,), ms.OperandError, "division by zero"),
        ("A(2*i) = t(i)", {"t": np.ones(3)}, None, ms.NotationError, "plain index variables in the target"),
        ("A(i) += t(i)", {"t": np.ones(3)}, None, ms.NotationSyntaxError, "expected `=`"),
        ("A(i) = t(0.5 * i)", {"t": np.ones(3)}, None, ms.NotationSyntaxError, "arithmetic of integers"),
        (3, {}, None, ms.OperandError, "a definition as text"),
    ],
)
def test_what_cannot_be_is_refused(
    text: Any, operands: dict[str, Any], shape: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ms.define(text, shape=shape, **operands).toarray()


def test_operands_that_do_not_fit_are_refused() -> None:
    A = low_rank()
    with pytest.raises(ms.ExtentError, match="expected index j to range over one extent, but got 2"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(3))
    with pytest.raises(ms.RankError, match="expected 2 subscripts for A"):
        ms.evaluate("y(i) = A(i)", A=A)
    T = ms.define("A(i,j) = t(i - j + 1)", t=np.ones(4), shape=(3, 2))
    with pytest.raises(ms.ExtentError, match="expected one extent of axis 1 of A and axis 0 of x"):
        ms.evaluate("y(i) = A(i,j) * x(j)", A=T, x=np.ones(1))
    P = np.array([0, 3])
    B = ms.define("B(i,j) = U(P(i),j)", U=U, P=P)
    with pytest.raises(ms.CoordinatesError, match=r"positions of U, 0 to 2 \(axis 0\), but got 3"):
        ms.evaluate("y(i) = B(i,j)", B=B)
    P[1] = 2
    np.testing.assert_array_equal(ms.evaluate("y(i) = B(i,j)", B=B), U[P].sum(axis=1))


def kronecker_product(**more: Any) -> tuple[ms.DefinedTensor, Any]:
    A, B = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(4, 2) - 3
    text = "K(i,j) = A(i / 4, j / 2) * B(i % 4, j % 2)"
    return ms.define(text, A=A, B=B, shape=more.get("shape", (8, 6))), np.kron(A, B)


def test_kronecker_products_take_vectors_as_matrices() -> None:
    K, dense = kronecker_product()
    x, X = np.arange(6.0), np.arange(12.0).reshape(6, 2)[:, ::-1]
    kernel = ms.compile("y(i) = K(i,j) * x(j)", K=K, x=x)
    explained = kernel.explain()
    assert explained.startswith("composed: y(i1,i2) = A(i1,j1) * B(i2,j2) * x(j1,j2)\n")
    assert "split: axis 0 of x by 2, axis 0 of the result by 4" in explained
    wide = np.zeros((8, 2))
    for out in (np.zeros(8), wide[:, 0]):
        assert kernel(K, x, out=out) is out
        np.testing.assert_array_equal(out, dense @ x)
    np.testing.assert_array_equal(ms.evaluate("Y(k,i) = K(i,j) * X(j,k)", K=K, X=X), (dense @ X).T)
    np.testing.assert_array_equal(ms.evaluate("s = K(i,j)", K=K), dense.sum())
    for reduction, expected in (("max", dense.max(1)), ("count", (dense != 0).sum(1)), ("argmax", dense.argmax(1))):
        np.testing.assert_array_equal(ms.evaluate(f"y(i) = {reduction}(j : K(i,j))", K=K), expected)
    np.testing.assert_array_equal(ms.evaluate("y(i) += K(i,j) * x(j)", K=K, x=x, y=np.ones(8)), dense @ x + 1)
    np.testing.assert_array_equal(ms.evaluate("y(i) = K(i,j) * x(j)", K=K, x=list(range(6))), dense @ x)
    found = ms.evaluate("y(i) = K(i,j) * x(j)", K=K, x=x, out="SparseVector")
    np.testing.assert_array_equal(found.to_numpy(), dense @ x)


def test_variables_are_split_only_where_all_operands_allow_it() -> None:
    K, dense = kronecker_product()
    S = sparse_array(np.random.default_rng(1), 8, 6)
    for text, expected in (
        ("y(i) = K(i,j) * S(i,j)", (dense * S).sum(axis=1)),
        ("y(i) = K(i,j) * x(j) * z(7 - i)", dense @ np.arange(6.0) * np.arange(8.0)[::-1]),
    ):
        operands = {"S": ms.tensor(S), "x": np.arange(6.0), "z": np.arange(8.0)}
        given = {name: value for name, value in operands.items() if f"{name}(" in text}
        np.testing.assert_array_equal(ms.evaluate(text, K=K, **given), expected)
        assert "split:" not in ms.compile(text, K=K, **given).explain()
    part, _ = kronecker_product(shape=(7, 5))
    np.testing.assert_array_equal(ms.evaluate("y(i) = K(i,j) * x(j)", K=part, x=np.ones(5)), dense[:7, :5].sum(axis=1))
    for size in (4, 7):
        with pytest.raises(ms.ExtentError, match="expected one extent of axis 1 of K and axis 0 of x"):
            ms.evaluate("y(i) = K(i,j) * x(j)", K=K, x=np.ones(size))
    with pytest.raises(ms.SparseError):
        ms.compile("y(i) = K(i,j) * x(j)", K=K, x=np.ones(6))(K, np.ones(6), out=np.ones(7))


def test_operators_and_functions_of_numpy() -> None:
    A, dense, S = low_rank(), U @ V.T, ms.tensor(sparse_array(np.random.default_rng(0), 3, 2))
    x, X = np.array([1.0, -2.0]), np.arange(6.0).reshape(2, 3)
    functions: tuple[Callable[..., Any], ...] = (
        lambda a, s: a @ x,
        lambda a, s: X.T @ a.T,
        lambda a, s: a @ a.T,
        lambda a, s: np.ones(3) @ a,
        lambda a, s: a @ [1, 2],
        lambda a, s: a * s,
        lambda a, s: s - a,
        lambda a, s: a @ s.T,
        lambda a, s: 2 - a / 3,
        lambda a, s: -a + abs(a),
        lambda a, s: a**2 > x,
        lambda a, s: np.exp(a).sum(axis=0),
        lambda a, s: np.sum(a),
        lambda a, s: np.linalg.norm(a),
        lambda a, s: np.add.reduce(a, axis=1),
        lambda a, s: ms.einsum("ij,j->i", a, x),
        lambda a, s: ms.einsum("ij,kj,k", a, a, np.ones(3)),
        lambda a, s: ms.einsum("ij,ij->ij", a, s),
        lambda a, s: ms.einsum("ij->ji", a, dtype="complex128"),
    )
    for function in functions:
        np.testing.assert_array_equal(as_array(function(A, S)), as_array(function(dense, S)))
    with pytest.raises(ms.ExtentError, match="inner extents for @, but got 2 and 3"):
        A @ np.ones(3)
    with pytest.raises(ms.OperandError, match="of data to update"):
        A += 1  # type: ignore[misc]
    with pytest.raises(ms.OperandError, match="for out, but got DefinedTensor"):
        np.add(dense, 1, out=A)  # type: ignore[call-overload]


def test_lazy_expressions_plan_definitions_with_what_reads_them() -> None:
    rng = np.random.default_rng(0)
    left, right, x = (rng.integers(-3, 4, shape).astype(float) for shape in ((2000, 3), (2000, 3), (2000,)))
    expression = ms.lazy(low_rank(U=left, V=right)) @ (ms.lazy(low_rank(U=left, V=right)) @ x)
    np.testing.assert_array_equal(expression.compute(), left @ (right.T @ (left @ (right.T @ x))))
    assert "[2000,2000]" not in expression.explain()
    for define in DEFINITIONS:
        A, dense = define(rng, 5)
        np.testing.assert_array_equal((ms.lazy(A) @ np.ones(dense.shape[1]) + 1).compute(), dense.sum(axis=1) + 1)


def test_alternatives_are_those_of_the_composed_statement() -> None:
    rng = np.random.default_rng(0)
    A, x = low_rank(U=rng.random((900, 3)), V=rng.random((900, 3))), rng.random(900)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    found = kernel.alternatives()
    assert len(found) > 1
    assert [str(one) for one in kernel.alternatives(A, x)] == [str(one) for one in found]


def test_chosen_alternatives_take_defined_tensors() -> None:
    """By the names of the statement that users wrote: those of the composed one are not theirs."""
    rng = np.random.default_rng(0)
    U, V, x = (rng.integers(-3, 4, shape).astype(float) for shape in ((900, 3), (900, 3), (900,)))
    A, dense = low_rank(U=U, V=V), U @ V.T
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    plans = set()
    for way in (*kernel.alternatives(), *kernel.alternatives(A, x)):
        for chosen in (ms.compile(way), ms.compile(way, A=A, x=x), pickle.loads(pickle.dumps(ms.compile(way)))):
            assert chosen.parameters == ("A", "x")
            plans.add(chosen.ir("plan"))
            np.testing.assert_array_equal(chosen(A, x), dense @ x)
            np.testing.assert_array_equal(chosen(x=x, A=low_rank(U=V, V=U)), dense.T @ x)
        out = np.empty(900)
        assert ms.evaluate(way, A=A, x=x, out=out) is out
        np.testing.assert_array_equal(out, dense @ x)
        with pytest.raises(ms.OperandError, match="A with the definition that the kernel was compiled for, but got nd"):
            ms.evaluate(way, A=dense, x=x)
        with pytest.raises(ms.UnknownTensorError, match="expected data for tensor x, but got none"):
            ms.compile(way, A=A)
        with pytest.raises(ms.UnknownTensorError, match="expected data for tensor A, but got none"):
            ms.evaluate(way)
        with pytest.raises(ms.UnsupportedError, match="expected no optimize= with an alternative"):
            ms.compile(way, optimize="off")
    assert len(plans) == len(kernel.alternatives())


UNEVEN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "L(i,j) = D(i,j) + 1.0": lambda D, a, b: D + 1,
    "L(i,j) = 2.0 - D(i,j)": lambda D, a, b: 2 - D,
    "L(i,j) = D(i,j) * 3.0 + c": lambda D, a, b: 3 * D + 5,
    "L(i,j) = a(i) + b(j)": lambda D, a, b: a[:, None] + b,
    "L(i,j) = D(i,j) + a(i)": lambda D, a, b: D + a[:, None],
    "L(i,j) = D(i,j) - (b(j) + 1.0)": lambda D, a, b: D - (b + 1),
    "L(i,j) = sqrt(D(i,j) + 1.0)": lambda D, a, b: np.sqrt(D + 1),
    "L(i,j) = a(i) * (D(i,j) + 1.0) * b(j)": lambda D, a, b: a[:, None] * (D + 1) * b,
}


@pytest.mark.parametrize("text", UNEVEN)
def test_terms_without_a_variable_are_summed_as_often_as_others(text: str) -> None:
    rng = np.random.default_rng(3)
    D, a, b = (rng.integers(0, 3, shape).astype(float) for shape in ((3, 4), (3,), (4,)))
    given = {"D": ms.tensor(D), "a": a, "b": b, "c": np.asarray(5.0)}
    L = ms.define(text, **{name: one for name, one in given.items() if f"{name}(" in text or text.endswith(f" {name}")})
    full = UNEVEN[text](D, a, b)
    for optimize in ("auto", "off", "algebra"):
        for statement, wanted in {
            "s = L(i,j)": full.sum(),
            "y(i) = L(i,j)": full.sum(axis=1),
            "y(j) = L(i,j)": full.sum(axis=0),
            "y(i) = L(i,j) + z(i)": full.sum(axis=1) + a,
            "y(i) = z(i) * L(i,j)": full.sum(axis=1) * a,
            "y(i) = L(i,j) * x(j)": full @ b,
            "y(i) = z(i) - L(i,j) * x(j) - L(i,j)": a - full @ b - full.sum(axis=1),
            "s = L(i,j) * L(i,j)": (full * full).sum(),
        }.items():
            others = {name: one for name, one in {"x": b, "z": a}.items() if f"{name}(" in statement}
            found = ms.evaluate(statement, L=L, optimize=optimize, **others)
            np.testing.assert_allclose(found, wanted, err_msg=f"{statement} {optimize}")
    np.testing.assert_allclose(ms.compile("y(i) = L(i,j)", L=L)(L), full.sum(axis=1))
    np.testing.assert_allclose(ms.evaluate("y(i) += L(i,j)", L=L, y=a.copy()), a + full.sum(axis=1))
    np.testing.assert_allclose(ms.einsum("ij->j", L), full.sum(axis=0))
    np.testing.assert_allclose(ms.lazy(L).sum(axis=0).compute(), full.sum(axis=0))
    np.testing.assert_allclose(ms.evaluate("s = M(i)", M=ms.define("M(i) = L(i,j)", L=L)), full.sum())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_kernels_over_defined_tensors_are_pickled(elsewhere: bool) -> None:
    U, x = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    low = ms.define("A(i,j) = U(i,k) * V(j,k)", U=U, V=U)
    rows = ms.define("G(i,j) = B(P(i), j)", B=ms.tensor(np.eye(3)), P=np.array([2, 0, 1]))
    filled = ms.tensor(np.where(np.eye(3) > 0, 5.0, 2.0), fill_value=2.0)
    for operand, dense in ((low, U @ U.T), (rows, np.eye(3)[[2, 0, 1]]), (filled, filled.to_numpy())):
        kernel = ms.compile("y(i) = A(i,j) * x(j)", A=operand, x=x)
        sent = pickle.dumps((kernel, operand, x))
        if elsewhere:
            code = "import pickle, sys; k, A, x = pickle.load(sys.stdin.buffer); print(*k(A=A, x=x))"
            run = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
            found = np.array(run.stdout.split(), float)
        else:
            again, _, _ = pickle.loads(sent)
            found = again(A=operand, x=x)
        np.testing.assert_array_equal(found, dense @ x)


@pytest.mark.parametrize("outer", ["3 * L(i,j)", "L(i,j) * L(i,j)", "L(i,j) + L(i,j)", "L(i,j)", "-L(i,j)"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("storage", ["CSR", None])
def test_a_definition_of_a_definition_has_the_numbers_of_its_element_type(
    outer: str, dtype: str, storage: str | None
) -> None:
    values = np.array([[100, 0], [3, 101], [0, 6]], dtype)
    S = values if storage is None else ms.tensor(values, storage)
    L = ms.define("L(i,j) = S(i % 3, j % 2) if floor_divide(i, 3) == floor_divide(j, 2)", S=S, shape=(6, 4))
    N = ms.define(f"N(i,j) = {outer}", L=L)
    block = np.kron(np.eye(2, dtype=dtype), values)
    known = {"3 * L(i,j)": np.dtype(dtype).type(3) * block, "L(i,j) * L(i,j)": block * block,
             "L(i,j) + L(i,j)": block + block, "L(i,j)": block, "-L(i,j)": -block}[outer]  # fmt: skip
    np.testing.assert_array_equal(N.toarray(), known)
    np.testing.assert_array_equal(ms.tensor(N, "CSR").to_numpy(), known)
    x = np.array([1, 2, 3, 4], dtype)
    for optimize in ("auto", "off"):
        np.testing.assert_array_equal(ms.evaluate("y(i) = N(i,j) * x(j)", N=N, x=x, optimize=optimize), known @ x)
