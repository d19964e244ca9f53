"""How far ahead native loops ask for memory, and how long threads wait awake: never what they compute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.machine import machine_profile
from mlir_sparse.tensor.symmetric_matrix import is_symmetric

DISTANCES = (0, 1, 3, 32, 1 << 40)


@pytest.fixture(params=DISTANCES)
def _distance(request: pytest.FixtureRequest) -> Iterator[None]:
    profile = machine_profile()
    _native.set_machine_distances(request.param, request.param)
    _native.set_machine_watch(request.param)
    yield
    _native.set_machine_distances(profile.number("gathers"), profile.number("rows"))
    _native.set_machine_watch(profile.number("watch"))


def scattered(rows: int, entries: int) -> scipy.sparse.coo_array:
    """Returns a matrix of whole numbers, NaN and infinities, the entries of which are in no order; rows are empty."""
    rng = np.random.default_rng(entries)
    places = rng.permutation(rows * rows)[:entries]
    values = rng.integers(-9, 9, entries).astype(float)
    values[::97], values[1::97], values[2::97] = np.nan, np.inf, -0.0
    return scipy.sparse.coo_array((values, (places // rows, places % rows)), shape=(rows, rows))


@pytest.mark.usefixtures("_distance")
@pytest.mark.parametrize(("rows", "entries"), [(1, 0), (1, 1), (9, 40), (700, 31), (700, 33), (700, 120_000)])
@pytest.mark.parametrize("to", ["CSR", "CSC"])
def test_packing_and_conversion(rows: int, entries: int, to: str) -> None:
    A = scattered(rows, entries)
    packed = ms.tensor(A, to)
    expected = np.zeros(A.shape)
    expected[A.row, A.col] = A.data  # SciPy adds, which takes the sign of a zero
    assert packed.to_numpy().tobytes() == expected.tobytes()
    turned = packed.convert("CSC" if to == "CSR" else "CSR")
    assert turned.to_numpy().tobytes() == expected.tobytes()


@pytest.mark.usefixtures("_distance")
@pytest.mark.parametrize("storage", ["DIA", "SlotELL"])
def test_conversion_of_lines(storage: str) -> None:
    A = scipy.sparse.diags_array([np.arange(1.0, 400.0), np.full(397, np.nan)], offsets=[0, -2], shape=(399, 399))
    found = ms.tensor(A, storage).convert("CSR").to_numpy()
    assert np.array_equal(found, A.toarray(), equal_nan=True)


@pytest.mark.usefixtures("_distance")
def test_symmetry() -> None:
    A = scattered(300, 2000)
    A.data[:] = np.arange(1.0, 2001.0)
    same = scipy.sparse.csr_array(A + A.T)
    other = same.copy()
    other.data[-1] += 1
    assert is_symmetric(ms.tensor(same))
    assert not is_symmetric(ms.tensor(other))


@pytest.mark.usefixtures("_distance")
def test_threads_that_do_not_wait_awake() -> None:
    A = scipy.sparse.csr_array(scipy.sparse.diags_array(np.arange(200_000.0)))
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=ms.tensor(A), x=np.ones(200_000), threads=2)
    for _ in range(20):
        assert np.array_equal(kernel(ms.tensor(A), np.ones(200_000)), np.arange(200_000.0))
