"""Factors taken out of the sums of rows, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

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
