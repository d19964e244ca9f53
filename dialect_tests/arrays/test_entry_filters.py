"""Triangles, diagonals, comparisons, extremes and counts of tensors are those of NumPy's arrays, in every storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array

STORAGES = ["CSR", "CSC", "COO", "DCSR", "CSF", "BSR(2, 2)", "ELL", "DIA", "CSR(unordered)", "dense"]
STORAGES += [
    "(i, j) -> (i : compressed(nonunique), j : singleton(soa))",
    "(i, j) -> (j : compressed(nonunique), i : singleton)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
]
_NARROW = "(i, j) -> (i : dense, j : compressed), posWidth = 16, crdWidth = 8"
STORAGES += [f"#sparse_tensor.encoding<{{ map = {_NARROW} }}>"]
_CALLS: dict[str, Callable[[Any], Any]] = {
    "tril": np.tril,
    "triu": lambda x: np.triu(x, 2),
    "no triangle": lambda x: np.tril(x, -9),
    "diagonal": np.diagonal,
    "lower diagonal": lambda x: np.diagonal(x, -1),
    "diagonal of the transpose": lambda x: np.diagonal(x, 1, 1, 0),
    "no diagonal": lambda x: np.diagonal(x, 50),
    "trace": lambda x: np.trace(x, 1),
    "nonzero": np.nonzero,
    "greater": lambda x: x > 1,
    "greater than less": lambda x: x > -1,
    "equal": lambda x: x == 1,
    "unequal": lambda x: x != 0,
    "largest": np.max,
    "least": np.min,
    "any": np.any,
    "all": np.all,
    "first largest": np.argmax,
    "first least": np.argmin,
    "first largest of rows": lambda x: np.argmax(x, axis=1),
    "first least of columns": lambda x: np.argmin(x, axis=-2),
    "first largest of columns": lambda x: np.argmax(x, axis=0),
    "count": np.count_nonzero,
    "count of rows": lambda x: np.count_nonzero(x, axis=1),
    "count of columns": lambda x: np.count_nonzero(x, axis=-2),
    "flat": lambda x: np.reshape(x, -1),
    "one row": lambda x: np.reshape(x, (1, -1)),
    "folded": lambda x: np.reshape(x, (x.shape[1], 1, x.shape[0])),
    "by columns": lambda x: np.reshape(x, (x.shape[1], x.shape[0]), order="F"),
    "beside itself": lambda x: np.hstack([x, x[:, ::-1], x]),
    "below itself": lambda x: np.vstack([x, x[::-1]]),
}


def _special(kind: str, seed: int, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    found = np.where(rng.random(shape) < [0, 0.3, 1][seed % 3], rng.integers(-5, 6, shape), 0)
    found = np.abs(found) if seed % 2 else found
    found = found.astype(kind)
    if kind[0] == "f" and found.size and seed > 2:
        found.flat[rng.integers(0, found.size, 2)] = [np.nan, np.inf]
    return found


def _with_zeros(array: np.ndarray[Any, Any], storage: str) -> ms.SparseTensor:
    """Returns a tensor with an explicit zero, where the storage has such."""
    places = np.argwhere((array != 0) | (np.arange(array.size).reshape(array.shape) == array.size // 2)).T
    order = np.random.default_rng(0).permutation(places.shape[1])
    places = places[:, order]
    return ms.tensor((places, array[tuple(places)]), storage, shape=array.shape)


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("storage", STORAGES)
def test_results_are_those_of_arrays(storage: str, call: str) -> None:
    for seed, shape in enumerate([(4, 6), (6, 5), (1, 7), (5, 1), (3, 3), (9, 2), (8, 8)]):
        for kind in ("f8", "i1", "?", "f4"):
            array = _special(kind, seed, shape)
            tensor = _with_zeros(array, storage)
            found, expected = _CALLS[call](tensor), _CALLS[call](array)
            several = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for one, other in several:
                if isinstance(one, ms.SparseTensor):
                    stored = one.storage
                    ms.SparseTensor.from_levels(
                        one.encoding, one.shape, stored.positions, stored.coordinates, stored.values
                    )
                np.testing.assert_array_equal(as_array(one), other)


@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "?", "c8", "bfloat16"])
@pytest.mark.parametrize("storage", STORAGES)
def test_nonzero_elements_of_lines_are_counted_in_64_bits(storage: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    for shape in ((0, 5), (5, 0), (1, 1), (6, 4), (140, 200)):  # coordinates beyond 127 in 8 bits
        array = ((rng.random(shape) < 0.05) * rng.integers(1, 5, shape)).astype(
            ml_dtypes.bfloat16 if "b" in kind else kind
        )
        for tensor in (ms.tensor(array, storage), _with_zeros(array, storage)):
            for axis in (0, 1):
                counts = np.count_nonzero(tensor, axis=axis)
                found = as_array(counts)
                assert found.dtype == np.int64
                np.testing.assert_array_equal(found, np.count_nonzero(array, axis=axis))
            for one, other in zip(np.nonzero(tensor), np.nonzero(array), strict=True):
                np.testing.assert_array_equal(one, other)


def test_parts_are_not_shared() -> None:
    A = ms.tensor(np.arange(12.0).reshape(3, 4), "CSR")
    for found in (A[:, 1:3], A[0:2, 1:3], np.tril(A), A[::-1]):
        found.storage.values[:] = 0
    np.testing.assert_array_equal(A.to_numpy(), np.arange(12.0).reshape(3, 4))


def test_masks_of_native_filters_are_checked() -> None:
    native = pytest.importorskip("mlir_sparse._native")
    begins, mask, crd, values = np.array([0, 2]), np.ones(2, bool), np.arange(2), np.ones(2)
    short = mask[:1]
    for starts, kept in ((np.array([0, 3]), mask), (np.array([1, 0]), mask), (begins, short)):
        with pytest.raises(ValueError, match="expected segments of a mask"):
            native.kept_entries(starts, kept, crd, values)
    with pytest.raises(ValueError, match="two shapes of as many places"):
        native.relocated([np.zeros(1, np.int64)], [4], [3])
    with pytest.raises(ValueError, match="no coordinates in a shape without places"):
        native.relocated([np.zeros(1, np.int64)], [0], [0, 3])


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR"])
@pytest.mark.parametrize(("extent", "width"), [(255, 8), (256, 8), (65_536, 16)])
def test_positions_of_extremes_where_coordinates_reach_the_end_of_their_width(
    storage: str, extent: int, width: int
) -> None:
    """The extent itself is no number of the width."""
    random = np.random.default_rng(extent)
    array = np.where(random.random((3, extent)) < 0.3, random.integers(-3, 4, (3, extent)), 0)
    array[:, -1] = 5
    for matrix in (array, array.T):
        A = ms.tensor(matrix, ms.encoding(storage, rank=2, pos_width=32, crd_width=width))
        for axis in (0, 1):
            np.testing.assert_array_equal(A.argmax(axis=axis), matrix.argmax(axis=axis))
            np.testing.assert_array_equal(A.argmin(axis=axis), matrix.argmin(axis=axis))
