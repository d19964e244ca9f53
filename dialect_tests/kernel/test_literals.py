"""Integers in the text, at the ends of the element types that they are computed in: NumPy says what holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

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
