"""How calls of C's library count where loops are cut for threads: each lasts as long as several entries."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.plan import Generic, choose_cut, plan

TYPES = {"A": "f64[?,?] CSR", "x": "f64[?]", "z": "f64[?]"}

WEIGHTS = {
    "y(i) = exp(x(i))": 4,
    "y(i) = x(i) * tanh(z(i)) + 1": 4,
    "y(i) = pow(x(i), z(i))": 4,
    "y(i) = A(i,j) * exp(z(j))": 4,
    "Y(i,j) = log1p(A(i,j))": 4,
    # computed outside of the loop over entries
    "y(i) = exp(x(i)) * A(i,j) * z(j)": 1,
    # as quick as a product
    "y(i) = sqrt(x(i)) * abs(z(i))": 1,
    "y(i) = x(i) ** 2": 1,
    "y(i) = A(i,j) * z(j)": 1,
    # rounded by how many chunks there are
    "s = exp(x(i))": 1,
    "y(j) = A(i,j) * exp(x(i) + z(j))": 1,
}


@pytest.mark.parametrize("text", WEIGHTS)
def test_long_functions_count_as_several_entries(text: str) -> None:
    tensors = {name: kind for name, kind in TYPES.items() if f"{name}(" in text.partition("=")[2]}
    planned = plan(ms.compile(ms.parse(text), tensors=tensors, optimize="off").spec)
    cuts = [choose_cut(step, dict(planned.types)) for step in planned.steps if isinstance(step, Generic)]
    assert max(1 if isinstance(cut, str) else cut.weight for cut in cuts) == WEIGHTS[text], cuts


@pytest.mark.parametrize("extent", [0, 1, 16_383, 16_384, 40_001])
def test_threads_share_long_functions_bit_for_bit(extent: int) -> None:
    x = np.linspace(-3.0, 3.0, extent)
    x[1::7] = np.inf
    x[2::11] = np.nan
    kernel = ms.compile("y(i) = exp(x(i)) + sin(z(i))", x=x, z=x[::-1])
    before = ms.get_num_threads()
    try:
        given = []
        for threads in (1, 2, 3):
            ms.set_num_threads(threads)
            given.append(np.array(kernel(x, x[::-1])))
    finally:
        ms.set_num_threads(before)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(given[0], np.exp(x) + np.sin(x[::-1]), rtol=1e-14)
    for other in given[1:]:
        np.testing.assert_array_equal(other.view(np.int64), given[0].view(np.int64))
