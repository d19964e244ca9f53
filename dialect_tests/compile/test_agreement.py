"""Whether results agree: decided for pairs made by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.tuning.agreement import agree

THIRDS = np.array([1 / 3, -2 / 3, 1e6])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (THIRDS, THIRDS * (1 + 1e-13), True),
        (THIRDS, THIRDS * (1 + 1e-6), False),
        (THIRDS, THIRDS + np.array([1e-10, 0, 0]), True),  # a sum that cancels, beside one of a million
        (THIRDS, THIRDS + np.array([1e-4, 0, 0]), False),
        (np.zeros(3), np.zeros(3), True),
        (np.zeros(3), np.array([0, 1e-300, 0]), False),
        (np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]), True),
        (np.array([np.nan, np.inf, 1.0]), np.array([np.nan, -np.inf, 1.0]), False),
        (np.array([1.0, 2.0]), np.array([np.nan, 2.0]), False),
        (np.array([1, 2, 3]), np.array([1, 2, 3]), True),
        (np.array([1, 2, 3]), np.array([1, 2, 4]), False),
        (np.array([1.0]), np.array([1.0], np.float32), False),
        (np.zeros((2, 1)), np.zeros((1, 2)), False),
        (np.array([1 + 1j]), np.array([1 + 1j + 1e-13]), True),
        (np.array([1 + 1j]), np.array([1 - 1j]), False),
        (np.array([1.0], np.float32), np.array([1.0001], np.float32), True),
        (np.array([1.0], np.float32), np.array([1.01], np.float32), False),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.03], ml_dtypes.bfloat16), True),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.5], ml_dtypes.bfloat16), False),
        (np.array(2.0), np.array(2.0), True),
    ],
)
def test_arrays(one: Any, other: Any, same: bool) -> None:
    assert agree(one, other) == same


def test_tensors_are_compared_where_either_has_an_entry() -> None:
    def stored(*entries: tuple[int, int, float]) -> ms.SparseTensor:
        rows, columns, values = zip(*entries, strict=True)
        return ms.tensor(([rows, columns], list(values)), "CSR", shape=(3, 3))

    one = stored((0, 1, 2.0), (2, 2, 1.0))
    assert agree(one, stored((0, 1, 2.0), (2, 2, 1.0 + 1e-14)))
    assert agree(one, stored((0, 1, 2.0), (1, 0, 0.0), (2, 2, 1.0)))
    assert not agree(one, stored((0, 1, 2.0), (2, 1, 1.0)))
    assert not agree(one, stored((0, 1, 2.0)))
    empty = ms.tensor(np.zeros((3, 3)))
    assert agree(empty, empty)
    assert not agree(empty, one)
