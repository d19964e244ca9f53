"""Subscripts beyond an axis are IndexErrors, as Python's loops and callers of NumPy expect."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms

A = ms.tensor(np.arange(12.0).reshape(3, 4), "CSR")


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, -5), (slice(None), 4), [0, 3], (np.array([0, -9]), 1), 2**70])
def test_beyond_an_axis(index: object) -> None:
    dense = A.to_numpy()
    with pytest.raises((IndexError, OverflowError)):
        dense[index]  # type: ignore[index]
    with pytest.raises(IndexError) as caught:
        A[index]
    assert isinstance(caught.value, ms.IndexRangeError | ms.CoordinatesError | ms.SparseError)


def test_python_knows_where_a_tensor_ends() -> None:
    """Python's own iteration by subscripts stops at the first IndexError."""

    class Sequence:
        def __getitem__(self, at: int) -> float:
            return float(x[at])

    x = ms.tensor(np.array([0.0, 2.0, 0.0, 3.0]), "SparseVector")
    assert list(Sequence()) == [0, 2, 0, 3]
