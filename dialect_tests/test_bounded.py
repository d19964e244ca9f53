"""The oracle that knows bounds: it takes what rounding explains, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import bounded

Array = np.ndarray[Any, Any]


def judged(text: str, found: Any, stored: dict[str, Array] | None = None, **arrays: Any) -> None:
    held = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    operands = {
        name: bounded.Operand(array, (stored or {}).get(name, np.ones(array.shape, bool)), np.zeros(array.shape, bool))
        for name, array in held.items()
    }
    assignment = ms.parse(text)
    extents = {"i": 1, "j": 2}
    bounded.assert_within(np.asarray(found, np.float64), bounded.evaluate(assignment, operands, extents))


def test_a_factor_outside_of_a_sum_that_underflows_is_wrong() -> None:
    data = {"A": [[1e-200, 1e-200]], "x": [1e-200, 1e-200], "alpha": 1e200}
    judged("y(i) = alpha * A(i,j) * x(j)", [2e-200], **data)
    with pytest.raises(AssertionError, match=r"but got np.float64\(0.0\)"):
        judged("y(i) = alpha * A(i,j) * x(j)", [0.0], **data)
    # Written so, it does underflow.
    judged("y(i) = alpha * (A(i,j) * x(j))", [0.0], **data)


def test_a_factor_outside_of_a_sum_that_overflows_is_wrong() -> None:
    data = {"A": [[1e308, 1e308]], "x": [1.0, 1.0], "alpha": 0.5}
    judged("y(i) = alpha * A(i,j) * x(j)", [1e308], **data)
    for wrong in (np.inf, np.nan):
        with pytest.raises(AssertionError, match="expected"):
            judged("y(i) = alpha * A(i,j) * x(j)", [wrong], **data)
    # What leaves the range as written may be anything.
    judged("y(i) = alpha * A(i,j)", [np.inf], **data)


def test_cancellation_is_judged_by_what_cancels() -> None:
    data = {"A": [[1e8, -1e8]], "x": [1.0, 1.0 + 1e-12]}
    exact = 1e8 - 1e8 * (1.0 + 1e-12)
    judged("y(i) = A(i,j) * x(j)", [exact * (1 + 1e-5)], **data)
    with pytest.raises(AssertionError, match="expected"):
        judged("y(i) = A(i,j) * x(j)", [exact * 1.1], **data)


def test_what_is_not_stored_is_zero_times_infinity_too() -> None:
    stored = {"A": np.array([[True, False]])}
    judged("y(i) = A(i,j) * x(j)", [2.0], stored, A=[[1.0, 0.0]], x=[2.0, np.inf])
    judged("y(i) = A(i,j) * x(j)", [np.nan], A=[[1.0, 0.0]], x=[2.0, np.inf])
    with pytest.raises(AssertionError, match="expected"):
        judged("y(i) = A(i,j) * x(j)", [2.0], A=[[1.0, 0.0]], x=[2.0, np.inf])


def test_infinity_times_a_sum_is_no_sum_of_infinities() -> None:
    data = {"A": [[2.0, 0.0]], "x": [1.0, 1.0], "z": [-np.inf]}
    judged("y(i) = z(i) * (A(i,j) * x(j))", [-np.inf], **data)
    with pytest.raises(AssertionError, match="expected"):
        judged("y(i) = z(i) * (A(i,j) * x(j))", [np.nan], **data)


def test_a_sum_of_nothing_by_zero_is_no_number() -> None:
    data = {"A": [[0.0, 0.0]], "alpha": 0.0}
    judged("y(i) = A(i,j) / alpha", [np.nan], **data)
    with pytest.raises(AssertionError, match="expected"):
        judged("y(i) = A(i,j) / alpha", [0.0], **data)


def test_choices_that_rounding_decides_are_not_judged() -> None:
    text = "y(i) = where(sum(j : A(i,j)) > 0, 1, -1)"
    for either in (1.0, -1.0):
        judged(text, [either], A=[[0.1, -0.1]])
    with pytest.raises(AssertionError, match="expected"):
        judged(text, [-1.0], A=[[0.1, 0.1]])
