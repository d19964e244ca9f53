"""Targets with sums in their subscripts, gathers with offsets, and ranges that are read from tensors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import mlir_sparse as ms
from dialect_tests import written_cases
from dialect_tests.as_array import as_array
from dialect_tests.crossing import crossed
from mlir_sparse.notation import shifted_gathers

Array = np.ndarray[Any, Any]
STORAGES = ["dense", "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "ELL", "DIA", "UnorderedCOO"]


def _matrix(rows: int = 4, columns: int = 6, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    found: Array = np.where(rng.random((rows, columns)) < 0.5, rng.integers(-4, 5, (rows, columns)), 0).astype(float)
    return found


def _stored(dense: Array, storage: str) -> Any:
    return dense if storage == "dense" else ms.tensor(dense, storage)


# By statement, the places of element (i, j) and the shape of the result for extents m and n.
PLACES = {
    "c(i + 8, j + 8) = A(i,j)": (lambda i, j, m, n: (i + 8, j + 8), lambda m, n: (m + 8, n + 8)),
    "c(2*i, 3*j + 1) = A(i,j)": (lambda i, j, m, n: (2 * i, 3 * j + 1), lambda m, n: (2 * m - 1, 3 * n - 1)),
    "c(j, 1, i) = A(i,j)": (lambda i, j, m, n: (j, 0 * j + 1, i), lambda m, n: (n, 2, m)),
    "c(20 - i, j) = A(i,j)": (lambda i, j, m, n: (20 - i, j), lambda m, n: (21, n)),
    "c(6*i + j) = A(i,j)": (lambda i, j, m, n: (6 * i + j,), lambda m, n: (6 * m - 6 + n,)),
    "c(i + j, i - j + 10) = A(i,j)": (
        lambda i, j, m, n: (i + j, i - j + 10),
        lambda m, n: (m + n - 1, m + 10),
    ),
    "c(i + j) +=! A(i,j)": (lambda i, j, m, n: (i + j,), lambda m, n: (m + n - 1,)),
    "c(i, i + j) +=! A(i,j)": (lambda i, j, m, n: (i, i + j), lambda m, n: (m, m + n - 1)),
}


@crossed(text=list(PLACES), storage=STORAGES, shape=[(4, 6), (1, 6), (4, 1), (1, 1)])
def test_values_stand_where_the_target_says(text: str, storage: str, shape: tuple[int, int]) -> None:
    D = _matrix(*shape)
    places, size = PLACES[text]
    expected = np.zeros(size(*shape))
    i, j = (one.ravel() for one in np.indices(shape))
    np.add.at(expected, places(i, j, *shape), D.ravel())
    found = ms.evaluate(text, A=_stored(D, storage))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)
    # A larger array holds them too; what no element reaches is zero.
    out = np.full(tuple(extent + 3 for extent in expected.shape), np.nan)
    assert ms.evaluate(text, A=_stored(D, storage), out=out) is out
    np.testing.assert_array_equal(out[tuple(slice(extent) for extent in expected.shape)], expected)
    assert out.sum() == expected.sum()


def test_present_values_are_combined() -> None:
    x, c = np.arange(1.0, 5), np.arange(12.0)
    for op, combined in {"+=": np.add, "*=": np.multiply, "max=": np.maximum, "min=": np.minimum}.items():
        expected = c.copy()
        expected[2:10:2] = combined(expected[2:10:2], x)
        np.testing.assert_array_equal(ms.evaluate(f"c(2*i + 2) {op} x(i)", c=c, x=x), expected)
        out = c.copy()
        assert ms.evaluate(f"c(2*i + 2) {op} x(i)", c=out, x=x, out=out) is out
        np.testing.assert_array_equal(out, expected)
    # An array that is read is not overwritten before.
    shifted = np.arange(5.0)
    ms.evaluate("c(i + 1) = x(i)", x=shifted[:-1], out=shifted)
    np.testing.assert_array_equal(shifted, [0, 0, 1, 2, 3])


@pytest.mark.parametrize("dtype", ["i8", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "bool"])
def test_sums_at_found_elements(dtype: str) -> None:
    """Elements that several combinations reach are reduced, as a full convolution is."""
    kind = ms.DType.of(dtype).numpy
    a, b = np.arange(5).astype(kind), np.arange(1, 4).astype(kind)
    found = ms.evaluate("c(i + j) +=! a(i) * b(j)", a=a, b=b)
    expected = np.convolve(*(one.astype(complex if kind.kind == "c" else float) for one in (a, b)))
    assert found.dtype == kind
    np.testing.assert_array_equal(found, expected.astype(kind))
    if kind.kind in "if":
        D = _matrix().astype(kind)
        i, j = np.indices(D.shape)
        greatest = [D[i + j == k].max() for k in range(9)]
        np.testing.assert_array_equal(ms.evaluate("c(i + j) max=! A(i,j)", A=D), greatest)


def test_narrow_sums_are_rounded_once() -> None:
    ones = np.ones(4096, np.float16)
    found = ms.evaluate("c(i - i + j) +=! a(i) * b(j)", a=ones[:1], b=ones)  # i - i is 0: nothing is summed
    assert found.shape == (4096,)
    assert ms.evaluate("c(0) +=! a(i)", a=ones) == 4096
    total = ms.evaluate("c(0*i + j - j) +=! a(i) * b(j) where j in 0:1", a=ones, b=ones[:1])
    assert total == 4096


def test_kernels_streams_and_definitions() -> None:
    D, x = _matrix(), np.arange(6.0)
    kernel = ms.compile("c(2*i + 1) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    assert str(kernel.output) == "f64[?]"
    assert kernel.parameters == ("A", "x")
    assert "c(2*i + 1) = A(i,j) * x(j)" in kernel.explain()
    for made in (kernel, pickle.loads(pickle.dumps(kernel))):
        for rows in (4, 7):
            E, expected = _matrix(rows), np.zeros(2 * rows)
            expected[1::2] = E @ x
            np.testing.assert_allclose(made(ms.tensor(E, "CSR"), x), expected)
    source = ms.source(lambda low, high: D[low:high], shape=D.shape, type="f64[?,?] CSR", nbytes=400)
    expected = np.zeros(8)
    expected[1::2] = D @ x
    np.testing.assert_allclose(ms.stream("c(2*i + 1) = A(i,j) * x(j)", A=source, x=x, memory=400), expected)
    present = np.ones(9)
    streamed = ms.stream("c(2*i + 1) += A(i,j) * x(j)", A=source, x=x, c=present, memory=400, out=present)
    assert streamed is present
    np.testing.assert_allclose(present, 1 + np.append(expected, 0))
    G = ms.define("G(i,j) = 2 * A(i,j)", A=D)
    np.testing.assert_allclose(ms.evaluate("c(2*i + 1) = G(i,j) * x(j)", G=G, x=x), 2 * expected)


def test_statements_of_comprehensions_fill_parts() -> None:
    """Two vectors are put one after the other: sizes stand in subscripts of targets."""
    text = """def joined(double(M) a, double(N) b) -> (c, d) {
        c(i + N) = a(i)
        c(i) += b(i) where i in 0:N
        d(i) = 2 * c(i)
    }"""
    a, b = np.arange(3.0), np.arange(5.0, 9)
    c, d = ms.evaluate(text, a=a, b=b)
    np.testing.assert_array_equal(c, np.concatenate((b, a)))
    np.testing.assert_array_equal(d, 2 * c)


def test_many_elements_on_several_threads() -> None:
    rng = np.random.default_rng(0)
    A = ms.random((70_000, 40), density=0.1, rng=rng)
    D = A.to_numpy()
    expected = np.zeros((140_001, 40))
    expected[2::2] = D
    np.testing.assert_array_equal(ms.evaluate("c(2*i + 2, j) = A(i,j)", A=A), expected[:140_001])
    places = rng.integers(-1, 69_999, 200_000)
    np.testing.assert_allclose(ms.evaluate("y(k) = A(I(k) + 1, j)", A=A, I=places), D[places + 1].sum(1))
    lengths = rng.integers(0, 41, 70_000)
    kept = np.where(np.arange(40) < lengths[:, None], D, 0)
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) where j in 0:N(i)", A=A, N=lengths), kept.sum(1))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_elements(shape: tuple[int, int]) -> None:
    found = ms.evaluate("c(i + 2, 2*j) = A(i,j)", A=np.zeros(shape))
    assert found.shape[0] == 2 + shape[0]
    assert not found.any()


@pytest.mark.parametrize(
    ("text", "given", "error", "message"),
    [
        ("c(i + j) = A(i,j)", {"A": np.eye(2)}, ms.ExtentError, "write `c(i + j) +=! ...` to sum them"),
        ("c(i - 1) = x(i)", {"x": np.ones(2)}, ms.ExtentError, "expected subscript i - 1 of c to stay within 0 to 0"),
        ("c(i + 8) = x(i)", {"x": np.ones(2), "out": np.ones(9)}, ms.ExtentError, "within 0 to 8 (axis 0), but got 8"),
        ("c(i + 8) += x(i)", {"x": np.ones(2), "c": np.ones(9)}, ms.ExtentError, "within 0 to 8 (axis 0), but got 8"),
        ("c(i + 8, j) = A(i,j)", {"A": np.eye(2), "out": "CSR"}, ms.UnsupportedError, "expected dense storage for c"),
        ("c(i + 8) = x(i)", {"x": np.ones(2), "semiring": "min_plus"}, ms.UnsupportedError, "for semiring=min_plus"),
        ("c(1000000000000*i) = x(i)", {"x": np.ones(3)}, ms.TooLargeError, "c, which ends with the last of `c(10000"),
        ("c(9223372036854775807*i) = x(i)", {"x": np.ones(3)}, ms.TooLargeError, "c, which ends with the last of"),
        ("c(i + 1) = x(i)", {"x": np.eye(3)}, ms.RankError, "expected 2 subscripts for x of shape (?, ?), but got 1"),
        ("c(i + 1) = x(i)", {"x": np.ones(3), "out": np.eye(4)}, ms.RankError, "expected"),
        ("y(i) = x(i) where i in 0:2", {"x": np.eye(3)}, ms.RankError, "expected 2 subscripts for x of shape (?, ?)"),
        ("c(I(i)) = x(i)", {"x": np.ones(2), "I": np.ones(2, int)}, ms.NotationError, "one entry a row"),
        ("c(i + 1) = c(i + 1)", {"c": np.ones(2)}, ms.NotationError, "to be assigned alone"),
    ],
)
def test_mistakes(text: str, given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        ms.evaluate(text, **given)
    assert message in str(raised.value)


def test_what_takes_plain_targets_refuses_by_name() -> None:
    x, in_parts = np.ones(3), pytest.importorskip("mlir_sparse.dask", reason="expected Dask (extra dask)")
    for act in (
        lambda: ms.tune("c(2*i) = x(i)", x, budget=0.1),
        lambda: ms.adjoint("c(2*i) = x(i)", "x"),
        lambda: in_parts.evaluate("c(2*i + j) +=! A(i,j)", A=in_parts.from_tensor(ms.tensor(np.eye(3)), pieces=2)),
        lambda: ms.compile("c(2*i) = x(i)", x="f32[?]", target="cuda:sm_90"),
    ):
        with pytest.raises(ms.UnsupportedError, match=r"2\*i"):
            act()


# -- gathers with offsets ------------------------------------------------------------------------------------------


@crossed(
    storage=["dense", "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"],
    places=["i8", "i32", "i64", "u64", "sparse"],
    text=["Y(k,j) = L(I(k) + 1, j)", "y(k) = L(5 - 2*I(k), j) * j", "y(k) = sum(j : L(2*(I(k) - 1) + 3, j))"],
)
def test_gathers_with_offsets(storage: str, places: str, text: str) -> None:
    D, I = _matrix(6, 5), np.array([0, 2, 1, 0])  # noqa: E741 - the name in the text
    given = ms.tensor(I, "SparseVector") if places == "sparse" else I.astype(ms.DType.of(places).numpy)
    expected = {
        "Y(k,j) = L(I(k) + 1, j)": D[I + 1],
        "y(k) = L(5 - 2*I(k), j) * j": D[5 - 2 * I] @ np.arange(5),
        "y(k) = sum(j : L(2*(I(k) - 1) + 3, j))": D[2 * I + 1].sum(1),
    }[text]
    for optimize in ("auto", "off"):
        found = ms.evaluate(text, L=_stored(D, storage), I=given, optimize=optimize)
        np.testing.assert_allclose(as_array(found), expected)


def test_kernels_that_gather_with_offsets(tmp_path: Any) -> None:
    D, I = _matrix(6, 5), np.array([[0, 2], [1, -1]])  # noqa: E741 - the name in the text
    text = "Y(i,k,j) = L(I(i,k) + 1, j) * I(i,k)"
    assert ms.parse(str(ms.parse(text))) == ms.parse(text)
    assert list(shifted_gathers(ms.parse(text))) == ["I.at_1_1"]
    kernel = ms.compile(text, L="f64[?,?]", I="i64[?,?]")
    kernel.save(tmp_path / "kernel.msk")
    for made in (kernel, pickle.loads(pickle.dumps(kernel)), ms.load(tmp_path / "kernel.msk")):
        assert made.parameters == ("L", "I")
        np.testing.assert_array_equal(made(D, I), D[I + 1] * I[..., None])
        np.testing.assert_array_equal(made(I=I[:1], L=D), (D[I + 1] * I[..., None])[:1])
    assert "I.at_1_1: I + 1, made by calls" in kernel.explain()
    found = ms.tune(text, D, I, budget=0.05, fresh=True)
    np.testing.assert_array_equal(found.kernel(*found.arrange(D, I)), kernel(D, I))
    L, places, (i,) = ms.TensorVar("L"), ms.TensorVar("I"), ms.indices("i")
    built = ms.TensorVar("y").assign(i, L[2 * places[i] - 1])
    assert str(built) == "y(i) = L(2*I(i) - 1)"
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor I, but got none"):
        ms.evaluate("y(i) = L(I(i) + 1)", L=np.ones(3))
    source = ms.source(lambda low, high: D[low:high], shape=D.shape, type="f64[?,?] CSR", nbytes=400)
    streamed = ms.stream("y(i) = A(i,j) * x(J(j) + 1)", A=source, x=np.arange(9.0), J=np.arange(5), memory=400)
    np.testing.assert_allclose(streamed, D @ np.arange(1.0, 6))


@pytest.mark.parametrize(
    ("places", "error", "message"),
    [
        ([0, 5], ms.CoordinatesError, "expected I + 1 to hold positions of L, 0 to 5 (axis 0), but got 6 at (1)"),
        ([-2, 0], ms.CoordinatesError, "expected I + 1 to hold positions of L, 0 to 5 (axis 0), but got -1 at (0)"),
        ([2**63 - 1], ms.CoordinatesError, "expected I + 1 to hold positions of 64 bits, but got 9223372036854775808"),
        (np.array([2**64 - 1], np.uint64), ms.CoordinatesError, "positions of 64 bits, but got 18446744073709551616"),
        ([0.5], ms.DTypeError, "expected integers as the places to gather L from, but got f64 in I(k) + 1: convert I"),
    ],
)
def test_places_out_of_range(places: Any, error: type[Exception], message: str) -> None:
    for storage in ("dense", "CSR"):
        with pytest.raises(error) as raised:
            ms.evaluate("y(k) = L(I(k) + 1, j)", L=_stored(_matrix(6, 5), storage), I=np.asarray(places))
        assert message in str(raised.value)


@pytest.mark.parametrize("text", ["y(i) = L(I(i) + J(i))", "y(i) = L(I(i) + i)", "y(i) = L(I(i) + I(i))"])
def test_other_sums_are_refused(text: str) -> None:
    with pytest.raises(ms.NotationSyntaxError, match="with one element of a tensor, times an integer and plus one"):
        ms.parse(text)


# -- ranges that are read ------------------------------------------------------------------------------------------


@crossed(storage=STORAGES, optimize=["auto", "off", "algebra"])
def test_ranges_read_from_tensors(storage: str, optimize: str) -> None:
    D = _matrix(4, 6)
    N, P, x = np.array([3, 0, 9, 1]), np.array([1, 1, 4, 6, 6]), np.arange(6.0)
    j = np.arange(6)
    ended, between = j < N[:, None], (j >= P[:-1, None]) & (j < P[1:, None])
    cases = {
        "y(i) = A(i,j) * x(j) where j in 0:N(i)": (np.where(ended, D, 0) @ x),
        "y(i) = N(i) + A(i,j) where j in 2:N(i)": N + np.where(ended & (j >= 2), D, 0).sum(1),
        "y(i) = x(j) where i in 0:4, j in P(i):P(i + 1)": between @ x,
        "B(i,j) = A(i,j) where j in P(i) - 1:N(i) + 1": np.where((j >= P[:-1, None] - 1) & (j < N[:, None] + 1), D, 0),
        "y(i) = count(j : A(i,j)) where j in 0:N(i)": (np.where(ended, D, 0) != 0).sum(1),
        "y(j) +=! A(i,j) where j in 0:N(i)": np.where(ended, D, 0).sum(0),
    }
    for text, expected in cases.items():
        given = {"A": _stored(D, storage), "N": N, "P": P, "x": x}
        read = {name: one for name, one in given.items() if name in ms.parse(text).inputs}
        if "P(i) - 1" in text:
            read["P"] = P[:-1]
        found = ms.evaluate(text, tensors=read, optimize=optimize)
        np.testing.assert_allclose(as_array(found), expected, err_msg=text)


def test_ranges_read_where_zeros_count_are_refused() -> None:
    with pytest.raises(ms.UnsupportedError, match=r"expected a sum over j, whose range is read .* but got max: write"):
        ms.parse("y(i) max=! A(i,j) where j in 0:N(i)")
    with pytest.raises(ms.NotationError, match="expected a range of an index variable of the statement"):
        ms.parse("y(i) = x(i) where j in 0:N(i)")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(written_cases.cases())
def test_random_data_in_random_storage(case: written_cases.Case) -> None:
    """What `scripts/fuzz` runs: right, or refused by name."""
    try:
        written_cases.run(case)
    except ms.CompileError as error:
        raise AssertionError(f"{case}: {error}") from error
    except ms.SparseError:
        pass
