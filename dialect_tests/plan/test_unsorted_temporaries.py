"""Parts of a plan whose rows are left unsorted: where, where not, and what is computed with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms

N = 400
# Read by rows of entries, as the right factor and as the left one.
WALKED = (
    "D(i,l) = A(i,j) * B(j,k) * C(k,l) * A(l,m)",
    "D(i,l) = A(m,i) * A(i,j) * B(j,k) * C(k,l)",
    "D(p,s) = A(p,sum) * B(sum,q) * C(q,s) * x(s)",
)


def drawn(seed: int, dtype: Any = np.float64) -> Any:
    """Returns a matrix of small whole numbers, of which all sums are exact; some rows are empty."""
    rng = np.random.default_rng(seed)
    i, j = np.repeat(np.arange(0, N, 2), 3), rng.integers(0, N, 3 * N // 2)
    found = scipy.sparse.csr_array(scipy.sparse.coo_array((np.ones(i.size), (i, j)), shape=(N, N)))
    found.data = rng.integers(1, 3, found.nnz).astype(dtype)
    return found


def operands(text: str, dtype: Any = np.float64) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: ms.tensor(drawn(seed, dtype)) for seed, name in enumerate("ABC") if f"{name}(" in text
    }
    return found | ({"x": np.arange(N).astype(dtype) % 3} if "x(s)" in text else {})


def plans(text: str, tensors: dict[str, Any], out: str | None = "CSR") -> list[Any]:
    return [ms.compile(way, tensors=tensors) for way in ms.compile(text, tensors=tensors, out=out).alternatives()]


def left(kernels: list[Any]) -> list[Any]:
    return [kernel for kernel in kernels if "its rows are not sorted" in kernel.explain()]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64], ids=lambda one: one.__name__)
@pytest.mark.parametrize("text", WALKED)
def test_all_plans_compute_the_same(text: str, dtype: Any) -> None:
    tensors = operands(text, dtype)
    expected = ms.evaluate(text, tensors=tensors, out="CSR", optimize="off").to_numpy()
    kernels = plans(text, tensors)
    assert left(kernels), "no plan makes a part without order"
    for kernel in kernels:
        for threads in (1, 3):
            found = kernel.within(threads, False)(*(tensors[name] for name in kernel.parameters))
            assert found.encoding.is_ordered, "the result is as it was asked for"
            assert np.array_equal(found.to_numpy(), expected)


def test_numbers_that_are_not_finite_meet_as_before() -> None:
    tensors = operands(WALKED[2])
    tensors["B"].storage.values[::50] = np.nan
    tensors["C"].storage.values[1::50] = np.inf
    expected = ms.evaluate(WALKED[2], tensors=tensors, out="CSR", optimize="off").to_numpy()
    kernels = left(plans(WALKED[2], tensors))
    assert kernels
    for kernel in kernels:
        found = kernel(*(tensors[name] for name in kernel.parameters)).to_numpy()
        assert np.array_equal(np.isfinite(found), np.isfinite(expected))
        assert np.array_equal(found[np.isfinite(found)], expected[np.isfinite(expected)])


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", None),  # two parts meet, or one and a matrix do
        ("D(i,l) = (A(i,j) * B(j,k) * C(k,l)) * A(i,l)", "CSR"),
        ("D(i,j) = A(i,k) * B(k,j)", "CSR"),  # nothing but the result
    ],
)
def test_what_is_met_in_order_is_sorted(text: str, out: str | None) -> None:
    tensors = operands(text)
    expected = ms.evaluate(text, tensors=tensors, out=out, optimize="off")
    for kernel in plans(text, tensors, out):
        found = kernel(*(tensors[name] for name in kernel.parameters))
        if out is None:
            assert found == expected
        else:
            assert np.array_equal(found.to_numpy(), expected.to_numpy())


def test_a_statement_as_it_is_written_stays_as_it_is() -> None:
    tensors = operands(WALKED[0])
    kernel = ms.compile(WALKED[0], tensors=tensors, out="CSR", optimize="off")
    assert "nonordered" not in kernel.ir("linalg")
    assert "nonordered" not in kernel.explain()
