"""The least and the greatest of rows: to the bit what `maximumf` and `minimumf` make, whatever stands in them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms

SEMIRINGS = {"max_plus": "max", "min_plus": "min"}
ODD = (math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf, 1.5, -2.5)

pytestmark = pytest.mark.usefixtures("one_thread_and_two")


def extreme(kind: str, one: float, other: float) -> float:
    """Returns IEEE 754-2019's maximum or minimum of two numbers."""
    if math.isnan(one) or math.isnan(other):
        return math.nan
    if one == other == 0:
        negative = [math.copysign(1, each) < 0 for each in (one, other)]
        return -0.0 if (all(negative) if kind == "max" else any(negative)) else 0.0
    return max(one, other) if kind == "max" else min(one, other)


def rows_of(values: list[list[float]], dtype: Any) -> Any:
    starts = np.cumsum([0, *map(len, values)])
    columns = np.concatenate([np.arange(len(row)) for row in values]).astype(np.int32)
    data = np.array([number for row in values for number in row], dtype)
    return scipy.sparse.csr_array((data, columns, starts), (len(values), max(map(len, values))))


def check(values: list[list[float]], dtype: Any, semiring: str) -> None:
    kind, A = SEMIRINGS[semiring], rows_of(values, dtype)
    nothing = -math.inf if kind == "max" else math.inf
    expected = np.array([functools.reduce(functools.partial(extreme, kind), row, nothing) for row in values], dtype)
    found = ms.evaluate("y(i) = A(i,j)", A=ms.tensor(A), semiring=semiring, out="dense")
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rows_of_all_lengths(dtype: Any, semiring: str) -> None:
    rng = np.random.default_rng(1)
    check([list(np.round(rng.normal(size=length), 2)) for length in range(40)] * 3, dtype, semiring)


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_odd_numbers_at_all_places(dtype: Any, semiring: str) -> None:
    rows = []
    for length in (1, 2, 3, 5, 8, 9, 16, 17):
        for place in range(length):
            for odd in ODD:
                for rest in (-1.0, -0.0, 0.0):
                    rows.append([odd if at == place else rest for at in range(length)])
    check([*rows, *[[1.0]] * 20], dtype, semiring)


@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_random_mixtures_of_odd_numbers(semiring: str) -> None:
    rng = np.random.default_rng(2)
    check([list(rng.choice(ODD, rng.integers(0, 25))) for _ in range(500)], np.float64, semiring)


def test_maxima_count_what_is_missing() -> None:
    rng = np.random.default_rng(3)
    dense = -rng.random((60, 7)) * (rng.random((60, 7)) < 0.8)
    dense[5] = -1.0
    found = ms.evaluate("y(i) = max(j : A(i,j))", A=ms.tensor(dense, "CSR"))
    np.testing.assert_array_equal(found, dense.max(1))
