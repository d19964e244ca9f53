"""Integers in the text, at the ends of the element types that they are computed in: NumPy says what holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import rows

INTEGERS = (np.int8, np.int16, np.int32, np.int64)
NARROW = INTEGERS[:3]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_a_type_are_numbers_of_it(dtype: Any) -> None:
    x, about = np.array([1, 0, -1], dtype), np.iinfo(dtype)
    for value in (about.max, about.min):
        texts = (f"x(i) * {value}", f"{value} * x(i)", *([f"x(i) * -({-value})"] if dtype is not np.int64 else []))
        for text in texts:
            found = ms.evaluate(f"y(i) = {text}", x=x)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, x * dtype(value))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("beyond", [0, 1, 2**20])
@pytest.mark.parametrize(
    ("text", "numpy"),
    [
        ("y(i) = x(i) * {}", lambda x, n: x * n),
        ("y(i) = x(i) + {} - 5", lambda x, n: x + n - 5),
        ("y(i) = max(x(i), {})", np.maximum),
        ("y(i) = x(i) * {} > 0", lambda x, n: x * n > 0),
        ("s = sum(i : x(i) * {})", lambda x, n: (x * n).sum()),
        ("y(i) = where(x(i) * {} > 0, 1.0, 0.0)", lambda x, n: np.where(x * n > 0, 1.0, 0.0)),
    ],
)
def test_what_a_type_cannot_hold_is_refused_at_its_place(text: str, numpy: Any, beyond: int, dtype: Any) -> None:
    """NumPy raises OverflowError for the same; a number that wraps would be another."""
    x, about = np.array([1, 2], dtype), np.iinfo(dtype)
    for value in (about.max + 1 + beyond, about.min - 1 - beyond):
        with pytest.raises(OverflowError):
            numpy(x, value)
        written = text.format(value)
        for given in (x, ms.tensor(x, "SparseVector")):
            with pytest.raises(ms.LiteralError, match=f"expected an integer of .*, but got {value}") as caught:
                ms.evaluate(written, x=given)
            assert isinstance(caught.value, OverflowError)
            assert caught.value.span is not None
            assert f":1:{written.index(str(value)) + 1}:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "numpy"),
    [
        ("y(i) = x(i) < 1000", lambda x: x < 1000),
        ("y(i) = x(i) > -(1000)", lambda x: x > -1000),
        ("y(i) = x(i) / 300", lambda x: x / 300),
        ("y(i) = x(i) * 300.0", lambda x: x * 300.0),
        ("y(i) = (x(i) > 1) * 300", lambda x: (x > 1) * 300),
        ("y(i) = where(x(i) > 1, 300, 2)", lambda x: np.where(x > 1, 300, 2)),
        ("y(i) = x(i) & 300", lambda x: np.logical_and(x, 300)),
    ],
)
def test_what_is_not_computed_in_the_type_may_be_larger(text: str, numpy: Any) -> None:
    x = np.array([1, 2, -3], np.int8)
    found = ms.evaluate(text, x=x)
    np.testing.assert_array_equal(found, numpy(x))
    assert found.dtype == numpy(x).dtype


def test_operators_and_statements_are_asked_as_well() -> None:
    x = np.array([1, 2], np.int8)
    scaled = ms.operator(lambda a: a * 300)
    with pytest.raises(ms.LiteralError, match="but got 300"):
        ms.evaluate("y(i) = scaled(x(i))", x=x, tensors={"scaled": scaled})
    np.testing.assert_array_equal(ms.evaluate("y(i) = scaled(x(i))", x=x * 1.0, tensors={"scaled": scaled}), x * 300.0)
    with pytest.raises(ms.LiteralError, match="but got 300"):
        ms.evaluate("def f(int8(N) X) -> (O) { O(i) = X(i) * 300 }", X=x)
    with pytest.raises(ms.LiteralError, match="but got 300"):
        ms.compile("y(i) = x(i) * 300", x="i8[?]")


# Zero in f16, and nothing that rounds in f64: so that each type has a number that it rounds to zero, and one above.
TINY = {np.float16: (2.0**-25, 2.0**-24), np.float32: (1e-50, 1e-40), np.complex64: (1e-50, 1e-40)}


# What each text is of an array and a number; those with an order are of real numbers only.
ZEROS = {
    "C(i,j) = A(i,j) == {}": lambda a, n: a == n,
    "C(i,j) = A(i,j) ** {}": np.power,
    "y(i) = count(j : A(i,j) == -{})": lambda a, n: (a == -n).sum(axis=1),
    "C(i,j) = where(!(A(i,j) + {}), 1, A(i,j))": lambda a, n: np.where(a + a.dtype.type(n), a, a.dtype.type(1)),
}
ORDERED = {
    "C(i,j) = A(i,j) >= {}": lambda a, n: a >= n,
    "C(i,j) = where(A(i,j) <= -{}, 1, A(i,j))": lambda a, n: np.where(a <= -n, a.dtype.type(1), a),
    "y(i) = max(j : A(i,j) >= {})": lambda a, n: (a >= n).max(axis=1),
    "C(i,j) = floor_divide(A(i,j), {})": np.floor_divide,
    "C(i,j) = A(i,j) / {}": np.divide,
}


@pytest.mark.parametrize("dtype", TINY)
def test_numbers_that_a_type_rounds_to_zero_are_zeros_of_it(dtype: Any) -> None:
    """Whether zeros that are not stored make an expression zero is asked of the number that kernels compute with."""
    given = np.array([[1, 0, 2], [0, 0, -3]], dtype)
    meaning = ZEROS if dtype is np.complex64 else ZEROS | ORDERED
    for text, value, storage in rows(meaning, TINY[dtype], ("dense", "CSR", "COO")):
        found = ms.evaluate(text.format(value), A=given if storage == "dense" else ms.tensor(given, storage))
        found = found if isinstance(found, np.ndarray) else found.to_numpy()
        with np.errstate(all="ignore"):
            wanted = meaning[text](given, value)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-3, err_msg=f"{text}, {value}, {storage}")


def test_sums_of_f16_have_the_numbers_of_f32() -> None:
    """They are made in f32, where 1e-8 is a number."""
    x = ms.tensor(np.array([0, 30000, 30000], np.float16), "SparseVector")
    assert ms.evaluate("s = sum(i : x(i) * 1e-8)", x=x) == np.float16(np.float32(60000) * np.float32(1e-8))


def test_numbers_that_differ_from_zero_leave_comparisons_sparse() -> None:
    A = ms.tensor(np.diag([1.0, 2.0]), "CSR")
    assert isinstance(ms.evaluate("C(i,j) = A(i,j) >= 1e-50", A=A), ms.SparseTensor)
    assert isinstance(ms.evaluate("C(i,j) = A(i,j) > 1e-50", A=A.astype("f32")), ms.SparseTensor)


def test_operands_of_operators_have_numbers_of_their_own_type() -> None:
    A, tripled = ms.tensor(np.array([[1, 0], [0, -3]], np.float32), "CSR"), ms.operator(lambda a: 3 * a)
    found = ms.evaluate("C(i,j) = tripled(A(i,j) ** 1e-50)", A=A, tripled=tripled, out="dense")
    np.testing.assert_array_equal(found, np.full((2, 2), 3, np.float32))
    found = ms.evaluate("C(i,j) = tripled(A(i,j) ** 1e-50)", A=A.astype("f64"), tripled=tripled, out="dense")
    np.testing.assert_array_equal(found, [[3, 0], [0, np.nan]])
