"""Factors beside sums: multiplied where the text has them, in every storage, on magnitudes that show it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed

Array = np.ndarray[Any, Any]


def _matrix() -> Array:
    random = np.random.default_rng(3)
    dense = random.integers(-4, 5, (40, 30)) * (random.random((40, 30)) < 0.3)
    dense[7] = 0  # a row without entries
    return dense.astype(np.float64)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "c64"])
@pytest.mark.parametrize("sign", ["+", "-"])
def test_multiples_of_rows(dtype: str, sign: str) -> None:
    element = ms.DType(dtype).numpy
    dense, x, z, w = _matrix().astype(element), *(np.arange(1, n + 1).astype(element) for n in (30, 40, 40))
    operands = {"A": ms.tensor(dense), "x": x, "z": z, "w": w, "alpha": np.array(3, element)}
    text = f"y(i) = z(i) {sign} alpha * A(i,j) * x(j) * w(i)"
    found = ms.compile(text, tensors=operands, out="dense")(**operands)
    products = 3 * (dense @ x) * w
    np.testing.assert_allclose(found, z + products if sign == "+" else z - products, rtol=1e-6)


@pytest.mark.parametrize("factor", [np.inf, np.nan, 0.0, -2.0])
def test_rows_without_entries_stay_what_they_start_from(factor: float) -> None:
    dense, x, z = np.abs(_matrix()), np.ones(30), np.arange(40.0)
    operands = {"A": ms.tensor(dense), "x": x, "z": z, "alpha": np.array(factor)}
    found = ms.compile("y(i) = alpha * A(i,j) * x(j) + z(i)", tensors=operands, out="dense")(**operands)
    assert found[7] == z[7]
    full = dense.any(axis=1)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found[full], (factor * (dense @ x) + z)[full])


def test_sums_that_go_on_keep_their_factors() -> None:
    """The sum of a slice is carried by the loop over its rows."""
    random = np.random.default_rng(4)
    dense = random.integers(-4, 5, (5, 6, 7)) * (random.random((5, 6, 7)) < 0.4) * 1.0
    operands = {"T": ms.tensor(dense, "CSF"), "u": np.arange(6.0), "v": np.arange(7.0)}
    found = ms.compile("y(i) = T(i,j,k) * u(j) * v(k)", tensors=operands, out="dense")(**operands)
    np.testing.assert_array_equal(found, np.einsum("ijk,j,k", dense, *map(operands.get, "uv")))


STORAGE = (None, "CSR", "CSC", "DCSR", "ELL", "COO", "DIA", "BSR(2, 2)")
HUGE, TINY = 1e308, 1e-200
# Two entries of each row, what multiplies them, and a factor: partial results are too large or too small elsewhere.
MAGNITUDES = (
    ((TINY, TINY), (TINY, TINY), 1e200),
    ((HUGE, HUGE), (1.0, 1.0), 0.5),
    ((HUGE, HUGE), (1.0, 1.0), 0.0),
    ((HUGE, -HUGE), (1.0, 1.0), 10.0),
    ((5e-324, 5e-324), (1.0, 1.0), 0.5),
    ((TINY, -TINY), (TINY, 1.0), 1e250),
)
# What each text says, by Python's own numbers.
TEXTS: dict[str, Any] = {
    "y(i) = alpha * A(i,j) * x(j)": lambda a, x, f: f * a[0] * x[0] + f * a[1] * x[1],
    "y(i) = A(i,j) * alpha * x(j)": lambda a, x, f: a[0] * f * x[0] + a[1] * f * x[1],
    "y(i) = A(i,j) * x(j) * alpha": lambda a, x, f: (a[0] * x[0] + a[1] * x[1]) * f,
    "y(i) = alpha * (A(i,j) * x(j))": lambda a, x, f: f * (a[0] * x[0] + a[1] * x[1]),
    "y(i) = alpha * A(i,j)": lambda a, x, f: f * (a[0] + a[1]),
    "y(i) = alpha * sum(j : A(i,j)) * alpha": lambda a, x, f: f * (a[0] + a[1]) * f,
    "y(i) = sum(j : alpha * A(i,j))": lambda a, x, f: f * a[0] + f * a[1],
    "y(i) +=! alpha * A(i,j)": lambda a, x, f: f * a[0] + f * a[1],
}


@crossed(text=TEXTS, storage=STORAGE, deterministic=[False, True])
def test_a_factor_is_multiplied_where_it_is_written(text: str, storage: str | None, deterministic: bool) -> None:
    """The same in all storages, with any number of threads: no factor moves into a sum or out of it."""
    for row, x, alpha in MAGNITUDES:
        A = np.array([row, row])
        operands = {"A": A if storage is None else ms.tensor(A, storage), "x": np.array(x), "alpha": alpha}
        operands = {name: value for name, value in operands.items() if f"{name}(" in text or name == "alpha"}
        with np.errstate(all="ignore"):
            wanted = TEXTS[text](np.float64(row), np.float64(x), np.float64(alpha))
            terms = TEXTS[text](np.abs(row), np.abs(x), np.float64(alpha))
        found = ms.evaluate(text, tensors=operands, deterministic=deterministic)
        # A product that is added in the same instruction is not rounded before, nor too large.
        if not np.isnan(wanted):
            bound = 4e-16 * terms if np.isfinite(terms) else 0
            np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=bound)


@pytest.mark.parametrize("storage", STORAGE)
def test_a_sum_is_divided_once_it_is_made(storage: str | None) -> None:
    A = np.array([[5e-324, 5e-324], [HUGE, -HUGE]])
    given = A if storage is None else ms.tensor(A, storage)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) / s", A=given, s=2.0), [5e-324, 0.0])
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) / s", A=given, s=0.1), [1e-322, 0.0])


@pytest.mark.parametrize("width", [2, 9, 40])
def test_long_rows_keep_their_factors(width: int) -> None:
    """Vectors, their rests, dense rows in registers and groups of entries multiply each term."""
    A, x = np.full((9, width), TINY), np.full(width, TINY)
    for storage, text in itertools.product(("CSR", "DCSR", None), ("alpha * A(i,j) * x(j)", "w(i) * A(i,j) * x(j)")):
        given = A if storage is None else ms.tensor(A, storage)
        operands = {"A": given, "x": x, **({"alpha": 1e200} if "alpha" in text else {"w": np.full(9, 1e200)})}
        np.testing.assert_allclose(ms.evaluate(f"y(i) = {text}", tensors=operands), width * TINY, rtol=1e-14)
    S = ms.tensor(np.full((9, 6), 1e200), "CSR")
    X, Y = np.full((9, width), TINY), np.full((6, width), TINY)
    found = ms.evaluate("C(i,j) = S(i,j) * X(i,k) * Y(j,k)", S=S, X=X, Y=Y)
    np.testing.assert_allclose(found.to_numpy(), width * TINY, rtol=1e-14)


@crossed(
    formula=[
        "A({i}) - (B({i}) - D({i}))",
        "A({i}) - B({i}) + D({i})",
        "A({i}) + (B({i}) + (A({i}) - (D({i}) + A({i}))))",
        "0.5 * A({i}) + (B({i}) - (A({i}) + D({i})))",
    ],
    storage=[*STORAGE, "SparseVector"],
    out=[None, "dense"],
)
def test_sums_in_parentheses_are_made_first(formula: str, storage: str | None, out: str | None) -> None:
    """What is added first decides on what is too large: in arrays and in sparse storage it is as the text says."""
    rank = 1 if storage == "SparseVector" else 2
    numbers = {"A": np.float64(HUGE), "B": np.float64(-HUGE), "D": np.float64(-HUGE)}
    with np.errstate(over="ignore"):
        wanted = eval(formula.format(i=""), {name: lambda value=value: value for name, value in numbers.items()})
    tensors: dict[str, Any] = {}
    for name, value in numbers.items():
        array = np.zeros((4,) * rank)
        array[(0,) * rank] = value
        tensors[name] = array if storage is None else ms.tensor(array, storage)
    indices = "ij"[:rank]
    found = ms.evaluate(f"C({','.join(indices)}) = {formula.format(i=','.join(indices))}", tensors=tensors, out=out)
    array = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
    assert array[(0,) * rank] == wanted
    assert np.count_nonzero(array) == 1


def test_what_is_multiplied_out_is_said() -> None:
    """Sums inside sums may be made at once; that is shown, and nothing where all is as written."""
    types = {"T": "f64[?,?,?] CSF", "B": "f64[?,?]", "D": "f64[?,?]"}
    told = ms.compile("C(i,r) = T(i,j,k) * B(j,r) * D(k,r)", tensors=types).explain()
    assert "arithmetic\n  multiplied out, the sum over j is one of `T(i,j,k) * B(j,r) * D(k,r)`" in told
    types = {name: text.replace("f64", "i64") for name, text in types.items()}
    assert "arithmetic" not in ms.compile("C(i,r) = T(i,j,k) * B(j,r) * D(k,r)", tensors=types).explain()
    scaled = ms.compile("y(i) = 2 * A(i,j)", A="f64[?,?] CSR").explain()
    assert "arithmetic" not in scaled
    assert "a sum is made before it is multiplied or divided, as it is written" in scaled


def test_explain_shows_what_is_multiplied_out_as_it_is_computed() -> None:
    """With the brackets that it has, where a factor leaves out entries; of dense operands the sum comes first."""
    types = {"S": "f64[?,?] CSR", "z": "f64[?]", "U": "f64[?,?]", "V": "f64[?,?]"}
    text = "C(i,j) = S(i,j) * (z(i) + U(i,j)) * (U(i,k) * V(j,k))"
    told = ms.compile(text, tensors=types).explain()
    assert "the sum over k is one of `S(i,j) * (z(i) + U(i,j)) * (U(i,k) * V(j,k))`" in told
    assert "arithmetic" not in ms.compile(text, tensors={**types, "S": "f64[?,?]"}).explain()


@pytest.mark.parametrize("storage", [None, "Dense", "CSC"])
def test_infinity_times_a_sum_with_zeros_is_infinity(storage: str | None) -> None:
    S, z = np.array([[-np.inf, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])
    U, V = np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [0.0, 5.0]])
    given = U if storage is None else ms.tensor(U, storage)
    found = ms.evaluate("C(i,j) = S(i,j) * z(i) * (U(i,k) * V(j,k))", S=S, z=z, U=given, V=V)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, S * z[:, None] * (U @ V.T))


@crossed(
    text=[
        "y(i) = A(i,j) * x(j) / alpha",
        "y(i) = sum(k : sum(j : A(i,j)) / w(k))",
        "y(i) = sum(k : w(k) * (sum(j : A(i,j) * x(j)) / alpha))",
        "y(i) = sum(k : (1 - sum(j : A(i,j) * x(j))) / alpha - 1 / w(k))",
    ],
    shape=[(1, 0), (2, 3)],
    dtype=[np.int8, np.int64, np.float64],
)
def test_empty_sums_are_divided(text: str, shape: tuple[int, int], dtype: type) -> None:
    """A sum of nothing is zero, and so is one inside another sum: zero by zero is no number."""
    operands: dict[str, Any] = {"x": np.ones(shape[1], dtype), "w": np.zeros(2, dtype), "alpha": np.zeros((), dtype)}
    operands = {name: value for name, value in operands.items() if f"{name}(" in text or f"/ {name}" in text}
    for A in (np.zeros(shape, dtype), ms.tensor(np.zeros(shape, dtype), "CSR")):
        np.testing.assert_array_equal(ms.evaluate(text, tensors={"A": A, **operands}), np.full(shape[0], np.nan))


def test_what_is_subtracted_stays_so_when_it_is_divided() -> None:
    A, b, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 8.0])
    found = ms.evaluate("y(i) = sum(j : (b(j) - max(k : A(i,k))) / x(j))", A=A, b=b, x=x)
    np.testing.assert_array_equal(found, ((b - A.max(axis=1)[:, None]) / x).sum(axis=1))
