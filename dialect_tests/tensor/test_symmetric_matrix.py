"""Whether a matrix is its own transpose, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.tensor.symmetric_matrix import is_symmetric


def stored(*arrays: Any, extent: int = 3) -> ms.SparseTensor:
    """Returns a square CSR matrix with levels as they are."""
    positions, coordinates, values = map(np.array, arrays)
    found = ms.tensor(scipy.sparse.csr_array((values, coordinates, positions), shape=(extent, extent)))
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int16", "complex128"])
@pytest.mark.parametrize("storage", ["CSR", "CSC"])
def test_random_matrices(storage: str, dtype: str) -> None:
    rng, seen = np.random.default_rng(0), set[bool]()
    for _ in range(150):
        size = int(rng.integers(0, 9))
        matrix = rng.integers(1, 3, (size, size)) * (rng.random((size, size)) < rng.random())
        if rng.random() < 0.6:
            matrix = np.maximum(matrix, matrix.T)
        if size and rng.random() < 0.3:
            matrix[tuple(rng.integers(0, size, 2))] ^= 1
        expected = bool((matrix == matrix.T).all())
        seen.add(expected)
        assert is_symmetric(ms.tensor(matrix.astype(dtype), storage)) == expected, matrix
    assert seen == {True, False}


def test_many_entries_of_a_graph() -> None:
    rng = np.random.default_rng(1)
    half = scipy.sparse.random_array((5000, 5000), density=0.001, rng=rng, format="csr")
    both = ms.tensor((half + half.T).tocsr())
    assert is_symmetric(both)
    assert not is_symmetric(ms.tensor(half))
    values = both.storage.values
    values[values.size // 2] += 1
    assert not is_symmetric(both)
    values[values.size // 2] -= 1
    values[-1] = np.nan
    assert not is_symmetric(both)


@pytest.mark.parametrize("seed", range(20))
def test_graphs_without_weights(seed: int) -> None:
    """Their values are compared with each other, their structure with its mirror image."""
    rng = np.random.default_rng(seed)
    size, dtype = int(rng.integers(1, 60)), ("float64", "float32", "int8", "complex128")[seed % 4]
    half = rng.random((size, size)) < rng.choice([0.0, 0.02, 0.3, 1.0])
    half[0] |= rng.random(size) < 0.5
    dense = (half | half.T).astype(dtype) * 3
    assert is_symmetric(ms.tensor(dense, "CSC" if seed % 2 else "CSR"))
    for _ in range(5):
        i, j = rng.integers(0, size, 2)
        other = dense.copy()
        other[i, j] = 0 if dense[i, j] else 3
        assert is_symmetric(ms.tensor(other)) == (i == j)
        other[j, i] = other[i, j]
        assert is_symmetric(ms.tensor(other))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int16", "bool", "complex64", "complex128"])
def test_equal_values_that_are_written_in_place(dtype: str) -> None:
    """The structure is looked at once where values are equal; what was found holds for no other values."""
    ones = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 0]], dtype)
    both, upper = ms.tensor(ones), ms.tensor(np.triu(ones))
    for _ in range(3):
        assert is_symmetric(both)
        assert not is_symmetric(upper)
    values = both.storage.values
    values[0] = 0
    assert not is_symmetric(both)
    values[2] = 0  # its mirror image
    assert is_symmetric(both)
    values[:] = 0
    assert is_symmetric(both)
    values[-1] = 1
    assert not is_symmetric(both)


def test_values_of_which_the_last_alone_differs() -> None:
    extent = 70_001
    rows = np.arange(extent)
    ring = scipy.sparse.coo_array((np.ones(extent), (rows, np.roll(rows, 1))), shape=(extent, extent)).tocsr()
    both, upper = ms.tensor((ring + ring.T).tocsr()), ms.tensor(ring)
    for _ in range(2):
        assert is_symmetric(both)
        assert not is_symmetric(upper)
    both.storage.values[-1] = 2.0
    assert not is_symmetric(both)


@pytest.mark.usefixtures("whatever_can_be_cut", "one_thread_and_two")
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64", "complex128", "S3"])
@pytest.mark.parametrize("count", [0, 1, 2, 63, 1000, 300_001])
def test_one_value_in_another_place_ends_a_comparison(dtype: str, count: int) -> None:
    """At both ends, in the middle, and where parts, blocks and streams of a thread begin and end."""
    values = np.full(count, 3, dtype)
    assert _native.are_equal(values)
    ends = {count * part // 24 + by for part in range(25) for by in range(-3, 3)}
    blocks = {size // values.itemsize + by for size in (1 << 18, 1 << 19) for by in (-1, 0, 1)}
    for place in sorted(place for place in ends | blocks if count > 1 and 0 <= place < count):
        values[place] = 4
        assert not _native.are_equal(values), place
        values[place] = 3
    assert _native.are_equal(values)


def test_values_that_are_not_contiguous_are_refused() -> None:
    with pytest.raises(ValueError, match="expected contiguous values"):
        _native.are_equal(np.ones(8)[::2])


def test_structure_that_is_no_mirror_image_is_known_from_the_first_time() -> None:
    upper = stored([0, 2, 3, 3], [0, 1, 1], [1.0, 1.0, 1.0])
    assert [is_symmetric(upper) for _ in range(3)] == [False] * 3
    upper.storage.values[:] = 0.0
    assert not is_symmetric(upper)


def test_structure_of_values_that_become_equal() -> None:
    both = stored([0, 1, 2, 2], [1, 0], [1.0, 2.0])
    for values, expected in (([1, 2], False), ([2, 2], True), ([2, 1], False), ([5, 5], True), ([0.0, -0.0], False)):
        both.storage.values[:] = values
        assert [is_symmetric(both) for _ in range(2)] == [expected] * 2


def test_signs_of_zeros_and_values_that_are_no_numbers_are_bits() -> None:
    for one, other, expected in ((0.0, -0.0, False), (np.nan, np.nan, True), (np.nan, -np.nan, False)):
        matrix = stored([0, 1, 2, 2], [1, 0], [1.0, 1.0])
        assert is_symmetric(matrix)
        matrix.storage.values[:] = one, other
        assert is_symmetric(matrix) is expected


def test_values_are_compared_bit_for_bit() -> None:
    for one, other, expected in (
        (0.0, -0.0, False),
        (np.nan, np.nan, True),
        (np.nan, -np.nan, False),
        (1.0, 1.0, True),
    ):
        assert is_symmetric(stored([0, 1, 2, 2], [1, 0], [one, other])) is expected
    assert not is_symmetric(stored([0, 1, 2, 2], [1, 0], [1 + 2j, 1 - 2j]))  # Hermitian


def test_entries_that_are_stored_on_one_side_alone() -> None:
    assert not is_symmetric(stored([0, 1, 1, 1], [1], [0.0]))
    assert not is_symmetric(stored([0, 0, 1, 1], [0], [0.0]))
    assert is_symmetric(stored([0, 1, 1, 1], [0], [0.0]))


@pytest.mark.parametrize("storage", ["COO", "DCSR", "BSR(2,2)", "DIA", "ELL"])
def test_other_storage_is_not_looked_at(storage: str) -> None:
    assert not is_symmetric(ms.tensor(np.eye(4), storage))


def test_what_is_not_square_is_not_symmetric() -> None:
    assert not is_symmetric(ms.tensor(np.zeros((2, 3))))
    assert not is_symmetric(ms.tensor(np.ones(3), "SparseVector"))
    assert not is_symmetric(ms.tensor(np.ones((2, 2, 2)), "CSF"))
    assert is_symmetric(ms.tensor(np.zeros((0, 0))))


def test_levels_that_are_none_are_refused_and_not_followed() -> None:
    """Coordinates and positions far outside, and in another order."""
    values = np.ones(2)
    for width in (np.int32, np.int64):
        for places in ([9, 0], [-5, 0], [2**31 - 1, 0], [0, 1]):
            found = _native.is_symmetric(np.array([0, 1, 2, 2], width), np.array(places, width), values)
            assert found == (places == [0, 1])  # the diagonal
        for begins in ([0, 5, 2, 2], [0, -1, 2, 2], [1, 1, 2, 2], [0, 1, 2, 9]):
            assert not _native.is_symmetric(np.array(begins, width), np.array([1, 0], width), values)
    with pytest.raises(ValueError, match="expected contiguous begins"):
        _native.is_symmetric(np.zeros(0, np.int32), np.zeros(0, np.int32), values[:0])
    with pytest.raises(ValueError, match="a value for each coordinate"):
        _native.is_symmetric(np.array([0, 1, 2, 2]), np.array([1, 0]), np.ones(3))
    with pytest.raises(ValueError, match="expected 32 or 64 bits"):
        _native.is_symmetric(np.array([0, 1, 2, 2], np.int8), np.array([1, 0], np.int8), values)
