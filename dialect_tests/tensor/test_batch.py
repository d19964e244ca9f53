"""Batch levels: storage with a leading axis for each, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.errors import (
    CoordinatesError,
    OperandError,
    PositionsError,
    SparseError,
    StorageError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.level_view import level_view

COO = "(b, i, j) -> (b : batch, i : compressed(nonunique), j : singleton)"
FORMATS = {
    "csr": "BatchedCSR",
    "coo": COO,
    "coo of two arrays": "(b, i, j) -> (b : batch, i : compressed(nonunique), j : singleton(soa))",
    "csc": "(b, i, j) -> (b : batch, j : dense, i : compressed)",
    "dcsr": "(b, i, j) -> (b : batch, i : compressed, j : compressed)",
    "rows": "(b, i, j) -> (b : batch, i : compressed, j : dense)",
    "blocks": "(b, i, j) -> (b : batch, i floordiv 2 : dense, j floordiv 3 : compressed, "
    "i mod 2 : dense, j mod 3 : dense)",
    "two batches": "(b, i, j) -> (b : batch, i : batch, j : compressed)",
}


def _arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    random = np.where(rng.random((3, 4, 5)) < 0.4, rng.integers(1, 9, (3, 4, 5)), 0).astype(float)
    uneven = random.copy()
    uneven[1] = 0
    uneven[2, 1:] = 0
    one = np.zeros((3, 4, 5))
    one[1, 2, 3] = 6.0
    return {
        "random": random,
        "different counts": uneven,
        "one entry": one,
        "empty": np.zeros((3, 4, 5)),
        "full": np.ones((2, 4, 5)),
        "no batches": np.zeros((0, 4, 5)),
        "no rows": np.zeros((2, 0, 5)),
    }


ARRAYS = _arrays()
ALL = pytest.mark.parametrize("dense", ARRAYS.values(), ids=ARRAYS)
EVERY = pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)


@ALL
@EVERY
def test_holds_and_converts_what_numpy_holds(text: str, dense: np.ndarray) -> None:
    made = tensor(dense, text)
    assert made.shape == dense.shape
    for way in ("CSF", "BatchedCSR", "COO", COO, "dense", "CSF(2, 0, 1)"):
        other = tensor(dense, way)
        assert np.array_equal(made.convert(way).to_numpy(), dense)
        assert np.array_equal(other.convert(text).to_numpy(), dense)
    coordinates, values = made.to_coo()
    assert np.array_equal(made.to_numpy(), dense)
    assert np.array_equal(dense[tuple(coordinates)], values)
    assert values.size == np.count_nonzero(dense)


@ALL
@EVERY
def test_levels_come_back_as_they_were(text: str, dense: np.ndarray) -> None:
    made = tensor(dense, text)
    stored = made.storage
    again = SparseTensor.from_levels(made.encoding, made.shape, stored.positions, stored.coordinates, stored.values)
    assert again.nse == made.nse
    for left, right in zip(stored.buffers(), again.storage.buffers(), strict=True):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)


def test_csr_of_each_batch_is_padded_to_the_longest() -> None:
    made = tensor([[[1.0, 0, 2], [0, 3, 0]], [[0, 0, 0], [0, 0, 4]]], "BatchedCSR")
    assert made.storage.positions[2].tolist() == [[0, 2, 3], [0, 0, 1]]
    assert made.storage.coordinates[2].tolist() == [[0, 2, 1], [2, 0, 0]]
    assert made.storage.values.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert made.nse == 4


def test_coo_of_each_batch_is_padded_to_the_longest() -> None:
    made = tensor([[[1.0, 0, 2], [0, 3, 0]], [[0, 0, 0], [0, 0, 4]]], COO)
    assert made.storage.positions[1].tolist() == [[0, 3], [0, 1]]
    assert made.storage.coordinates[1].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert made.storage.coordinates[2].tolist() == [[0, 2, 1], [2, 0, 0]]
    assert made.storage.buffers()[1].tolist() == [[0, 0, 0, 2, 1, 1], [1, 2, 0, 0, 0, 0]]
    assert made.nse == 4


def test_zeros_given_are_entries_and_padding_is_none() -> None:
    made = tensor(([[0, 0, 1], [0, 1, 1], [0, 0, 2]], [5.0, 0.0, 7.0]), "BatchedCSR", shape=(2, 2, 3))
    assert made.storage.values.tolist() == [[5, 0], [7, 0]]
    assert made.nse == made.convert("COO").nse == 3
    assert made.convert(COO, drop_zeros=True).nse == 2


def test_padding_may_hold_anything() -> None:
    made = SparseTensor.from_levels(
        "BatchedCSR", (2, 1, 3), [None, None, [[0, 1], [0, 2]]], [None, None, [[2, 99, 99], [0, 1, -5]]],
        [[1.0, 8.0, 8.0], [2.0, 3.0, 8.0]],
    )  # fmt: skip
    assert made.to_numpy().tolist() == [[[0, 0, 1]], [[2, 3, 0]]]
    assert made.storage.values.tolist() == [[1, 0], [2, 3]]


@pytest.mark.parametrize(
    ("positions", "coordinates", "values", "error", "message"),
    [
        ([0, 1, 2], [[0], [0]], [[1.0], [1.0]], StorageError, r"positions\[2\] of shape \(2, ...\)"),
        ([[0, 1], [0, 1]], [0, 0], [[1.0], [1.0]], StorageError, r"coordinates\[2\] of shape \(2, ...\)"),
        ([[0, 1], [0, 1]], [[0], [0]], [1.0, 1.0], StorageError, r"values of shape \(2, ...\)"),
        (
            [[0], [0]],
            [[0], [0]],
            [[1.0], [1.0]],
            StorageError,
            r"room for 2 in each batch of positions\[2\], but got 1",
        ),
        ([[0, 1], [1, 1]], [[0], [0]], [[1.0], [1.0]], PositionsError, "but got 1 to 1 in batch 1"),
        ([[0, 1], [0, 2]], [[0], [0]], [[1.0], [1.0]], PositionsError, "at most 1, .* but got 0 to 2 in batch 1"),
        ([[0, 2], [0, 1]], [[1, 0], [0, 0]], [[1.0, 1], [1.0, 1]], CoordinatesError, "expected"),
        ([[0, 1], [0, 1]], [[0], [3]], [[1.0], [1.0]], CoordinatesError, "expected"),
        ([[0, 2], [0, 1]], [[0, 1], [0, 0]], [[1.0], [1.0]], StorageError, "room for 2 in each batch of values"),
    ],
)
def test_levels_that_break_the_format(
    positions: object, coordinates: object, values: object, error: type[SparseError], message: str
) -> None:
    with pytest.raises(error, match=message):
        SparseTensor.from_levels("BatchedCSR", (2, 1, 3), [None, None, positions], [None, None, coordinates], values)


def test_positions_as_wide_as_the_longest_batch_needs() -> None:
    dense = np.ones((3, 10, 20))
    made = tensor(dense, "BatchedCSR", pos_width=8, crd_width=8)
    assert made.storage.positions[2].dtype == np.uint8
    assert np.array_equal(made.convert("CSF").to_numpy(), dense)
    with pytest.raises(WidthError, match="posWidth = 8, but got 400"):
        tensor(np.ones((2, 20, 20)), "BatchedCSR", pos_width=8)


@pytest.mark.parametrize("text", [FORMATS["csr"], FORMATS["coo"]])
def test_as_operand_and_result(text: str) -> None:
    dense = ARRAYS["different counts"]
    stored, x = tensor(dense, text), np.arange(1.0, 6.0)
    assert np.array_equal(ms.evaluate("y[b,i] = A[b,i,j] * x[j]", tensors={"A": stored, "x": x}), dense @ x)
    doubled = ms.evaluate("C[b,i,j] = A[b,i,j] + A[b,i,j]", tensors={"A": stored}, out=text)
    assert doubled.encoding.level_types == stored.encoding.level_types
    assert np.array_equal(doubled.to_numpy(), 2 * dense)
    assert np.array_equal(stored.astype("f32").to_numpy(), dense)


def test_what_is_refused() -> None:
    made = tensor(ARRAYS["random"], "BatchedCSR")
    with pytest.raises(UnsupportedError, match="expected storage of a whole tensor"):
        level_view(made)
    with pytest.raises(UnsupportedError, match="levels are its dimensions"):
        made.slice(slice(0, 1), slice(0, 1), slice(0, 1))
    with pytest.raises(UnsupportedError, match="compressed or singleton levels in batches, but got loose_compressed"):
        tensor(ARRAYS["random"], "(b, i, j) -> (b : batch, i : dense, j : loose_compressed)")
    with pytest.raises(UnsupportedError, match="expected a sparse level in batches"):
        tensor(ARRAYS["random"], "(b, i, j) -> (b : batch, i : dense, j : dense)")
    with pytest.raises(OperandError):
        tensor(ARRAYS["random"], "BatchedCSR", shape=(1, 2, 3))
