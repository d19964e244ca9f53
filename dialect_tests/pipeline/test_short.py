"""Sums over short rows by vectors: what they compute, wherever rows end and buffers end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

TTV = "C(i,j) = A(i,j,k) * v(k)"


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = ms.get_num_threads()
    ms.set_num_threads(request.param)
    yield
    ms.set_num_threads(before)


def fibres(lengths: list[int], dtype: Any = np.float64, seed: int = 0) -> Any:
    """Returns a tensor with fibres of so many entries, an empty one where that is 0."""
    rng = np.random.default_rng(seed)
    crd = [np.sort(rng.choice(64, length, replace=False)) for length in lengths]
    starts = np.cumsum([0, *lengths])
    roots = np.array([0, len(lengths)], np.int32)
    positions = [np.array([0, 1], np.int32), roots, starts.astype(np.int32)]
    coordinates = [np.array([2]), np.arange(len(lengths)), np.concatenate([np.zeros(0, np.int64), *crd])]
    values = rng.integers(-9, 10, starts[-1]).astype(dtype)
    shape = (5, max(1, len(lengths)), 64)
    return ms.SparseTensor.from_levels("CSF", shape, positions, [c.astype(np.int32) for c in coordinates], values)


def kernel(dtype: str = "f64", text: str = TTV) -> Any:
    vectors = {name: f"{dtype}[?]" for name in "vw" if f"{name}(" in text}
    return ms.compile(text, A=f"{dtype}[?,?,?] CSF", out="DCSR", **vectors)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "c128"])
@pytest.mark.parametrize(
    "lengths",
    [
        [],
        [1],
        [7],
        [8],
        [9],
        [3, 5],  # exactly a vector
        [1, 2, 4, 1],  # the last ones begin where no vector fits
        [0, 0, 3, 0, 12, 0],
        [64, 1, 30, 8, 16, 17, 2],
        [1] * 100,
        list(range(33)),
    ],
)
def test_fibres_of_all_lengths(lengths: list[int], dtype: str) -> None:
    A = fibres(lengths, ms.DType(dtype).numpy)
    v = np.random.default_rng(1).integers(1, 9, 64).astype(A.dtype)
    found = kernel(dtype)(A, v)
    assert found.nse == len(lengths)
    np.testing.assert_array_equal(found.to_numpy(), A.to_numpy() @ v)


def test_random_fibres() -> None:
    rng = np.random.default_rng(3)
    compiled = kernel()
    for seed in range(20):
        A = fibres([int(n) for n in rng.geometric(0.3, 200).clip(max=64)], seed=seed)
        v = rng.random(64)
        np.testing.assert_allclose(compiled(A, v).to_numpy(), A.to_numpy() @ v, atol=1e-12)


def test_what_is_not_finite_stays_in_its_fibre() -> None:
    A = fibres([2, 3, 4, 5, 6])
    v = np.ones(64)
    last = A.storage.coordinates[2][-1]
    v[last] = np.nan
    found, dense = kernel()(A, v).to_numpy(), A.to_numpy()
    hit = dense[2, :, last] != 0
    np.testing.assert_array_equal(np.isnan(found[2]), hit)
    np.testing.assert_array_equal(found[2][~hit], dense[2, ~hit].sum(1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C(i,j) = -A(i,j,k) * v(k)", lambda A, v, w: -(A @ v)),
        ("C(i,j) = A(i,j,k) * v(k) * w(k)", lambda A, v, w: A @ (v * w)),
        ("C(i,j) = A(i,j,k) * v(k) / 2", lambda A, v, w: A @ v / 2),
        ("C(i,j) = A(i,j,k) * A(i,j,k) * v(k)", lambda A, v, w: (A * A) @ v),
        ("C(i,j) = abs(A(i,j,k)) * v(k)", lambda A, v, w: abs(A) @ v),
        ("C(i,j) = A(i,j,k)", lambda A, v, w: A.sum(2)),
    ],
)
def test_other_summands(text: str, expected: Any) -> None:
    A, rng = fibres(list(range(20))), np.random.default_rng(1)
    v, w = rng.integers(1, 9, (2, 64)).astype(float)
    given = {name: array for name, array in (("v", v), ("w", w)) if f"{name}(" in text}
    np.testing.assert_array_equal(kernel(text=text)(A=A, **given).to_numpy(), expected(A.to_numpy(), v, w))


def test_matrices_as_fibres_of_several_levels() -> None:
    dense = np.where(np.random.default_rng(5).random((4, 5, 6, 7)) < 0.2, 3.0, 0.0)
    A, v = ms.tensor(dense, "CSF"), np.arange(7.0)
    found = ms.evaluate("C(i,j,k) = A(i,j,k,l) * v(l)", A=A, v=v, out="CSF")
    np.testing.assert_array_equal(found.to_numpy(), dense @ v)
