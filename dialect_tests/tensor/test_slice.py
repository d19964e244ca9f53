"""Dimension slices: parts of a tensor that share its buffers, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.errors import ExtentError, OperandError, RankError, TooLargeError, UnsupportedError
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.level_view import level_view

RNG = np.random.default_rng(3)
RANDOM = np.where(RNG.random((6, 7)) < 0.5, RNG.integers(1, 9, (6, 7)), 0).astype(float)
ONE = np.zeros((6, 7))
ONE[2, 4] = 3.0
ARRAYS = {"random": RANDOM, "one entry": ONE, "empty": np.zeros((6, 7)), "full": np.ones((6, 7))}
ALL = pytest.mark.parametrize("dense", ARRAYS.values(), ids=ARRAYS)
PARTS = [
    (slice(None), slice(None)),
    (slice(1, 5), slice(0, 7, 2)),
    (slice(2, 3), slice(4, 5)),
    (slice(5, None), slice(1, 7, 5)),
]


@ALL
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("text", ["CSR", "CSC", "DCSR", "COO", "LooseCSR", "CSR_SLICE"])
def test_a_slice_holds_what_numpys_holds(text: str, part: tuple[slice, slice], dense: np.ndarray) -> None:
    parent, expected = tensor(dense, text), dense[part]
    view = parent.slice(*part)
    assert view.shape == expected.shape
    assert np.array_equal(view.to_numpy(), expected)
    assert view.nse == np.count_nonzero(expected)
    coordinates, values = view.to_coo()
    assert np.array_equal(expected[tuple(coordinates)], values)
    for way in ("CSR", "CSC", "COO", "ELL", "BSR(2, 2)", "CSR_SLICE", "dense"):
        assert np.array_equal(view.convert(way).to_numpy(), expected)
    assert np.array_equal(view.to_scipy().toarray(), expected)
    x = np.arange(1.0, expected.shape[1] + 1)
    assert np.array_equal(ms.evaluate("y[i] = A[i,j] * x[j]", tensors={"A": view, "x": x}), expected @ x)


@pytest.mark.parametrize("text", ["CSR", "COO", "CSR_SLICE"])
def test_a_slice_shares_every_buffer(text: str) -> None:
    parent = tensor(RANDOM, text)
    view = parent.slice(slice(1, 5), slice(0, 7, 2))
    within = view.slice(slice(1, 3), slice(1, 4, 2))
    for part in (view, within):
        pairs = zip(parent.storage.buffers(), part.storage.buffers(), strict=True)
        assert all(a.ctypes.data == b.ctypes.data for a, b in pairs)
    parent.storage.values[:] *= 10
    assert np.array_equal(within.to_numpy(), 10 * RANDOM[1:5, 0:7:2][1:3, 1:4:2])
    assert np.array_equal(view.astype("f32").to_numpy(), 10 * RANDOM[1:5, 0:7:2])


def test_the_encoding_names_the_slice_of_the_parent() -> None:
    view = tensor(RANDOM, "CSR").slice(DimSlice(1, 4, 1), DimSlice(0, 4, 2))
    assert view.encoding.slices == (DimSlice(1, 4, 1), DimSlice(0, 4, 2))
    assert view.slice(slice(2, 4), slice(1, 4, 2)).encoding.slices == (DimSlice(3, 2, 1), DimSlice(2, 2, 4))
    assert view.convert(view.encoding) is view


@pytest.mark.parametrize("dense", [*ARRAYS.values(), np.zeros((0, 4)), np.zeros((3, 0))])
def test_everything_is_a_slice(dense: np.ndarray) -> None:
    made = tensor(dense, "CSR_SLICE")
    plain = tensor(dense, "CSR")
    assert made.encoding.has_slices
    assert np.array_equal(made.to_numpy(), dense)
    assert made.nse == np.count_nonzero(dense)
    for left, right in zip(made.storage.buffers(), plain.storage.buffers(), strict=True):
        assert np.array_equal(left, right)
    back = made.convert("CSR")
    assert back.storage.values.ctypes.data == made.storage.values.ctypes.data
    shared = plain.convert("CSR_SLICE")
    assert shared.storage.values.ctypes.data == plain.storage.values.ctypes.data
    again = SparseTensor.from_levels(
        "CSR_SLICE", made.shape, made.storage.positions, made.storage.coordinates, made.storage.values
    )
    assert np.array_equal(again.to_numpy(), dense)


def test_as_result_and_from_scipy(tmp_path: Path) -> None:
    stored = tensor(RANDOM, "CSR_SLICE")
    doubled = ms.evaluate("C[i,j] = A[i,j] + A[i,j]", tensors={"A": stored}, out="CSR_SLICE")
    assert doubled.encoding.has_slices
    assert np.array_equal(doubled.to_numpy(), 2 * RANDOM)
    scipy_sparse = pytest.importorskip("scipy.sparse", reason="SciPy is optional")
    assert np.array_equal(tensor(scipy_sparse.csr_array(RANDOM), "CSR_SLICE").to_numpy(), RANDOM)
    ms.write(tmp_path / "part.mtx", stored.slice(slice(1, 5), slice(0, 7, 2)))
    assert np.array_equal(ms.read(tmp_path / "part.mtx").to_numpy(), RANDOM[1:5, 0:7:2])


PART = "(i : #sparse_tensor<slice(1, 4, 1)>, j : #sparse_tensor<slice(0, 4, 2)>) -> (i : dense, j : compressed)"


def test_slices_written_as_text_say_where_in_a_parent_entries_are() -> None:
    expected = RANDOM[1:5, 0:7:2]
    made = tensor(expected, PART)
    assert made.storage.level_sizes == (5, 7)  # the last row is 1 + 3 * 1, the last column 0 + 3 * 2
    coordinates = made.storage.coordinates[1]
    assert coordinates is not None
    assert coordinates.tolist() == [2 * j for row in expected for j in np.flatnonzero(row)]
    for stored in (made, tensor(expected, "CSC").convert(PART), ms.evaluate("C(i,j) = A(i,j)", A=expected, out=PART)):
        assert stored.encoding.slices == (DimSlice(1, 4, 1), DimSlice(0, 4, 2))
        assert np.array_equal(stored.to_numpy(), expected)
    pair = (np.nonzero(expected), expected[np.nonzero(expected)])
    assert np.array_equal(tensor(pair, PART, shape=(4, 4)).to_numpy(), expected)
    assert np.array_equal(made.convert(made.encoding, drop_zeros=True).to_numpy(), expected)
    with pytest.raises(TooLargeError, match="extents"):
        tensor(expected, f"(i : #sparse_tensor<slice({2**62}, 4, {2**61})>, j) -> (i : compressed, j : compressed)")


@pytest.mark.parametrize("declared", [PART, "CSR_SLICE"])
def test_a_kernel_for_slices_known_at_run_time_takes_any(declared: str) -> None:
    view = tensor(RANDOM, "CSR").slice(slice(1, 5), slice(0, 7, 2))
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A=f"f64[?,?] {declared}", x="f64[?]")
    assert np.array_equal(spmv(view, np.ones(4)), RANDOM[1:5, 0:7:2].sum(1))
    other = tensor(RANDOM, "CSR").slice(slice(0, 2), slice(3, 5))
    if declared == PART:
        with pytest.raises(OperandError, match="expected A stored as"):
            spmv(other, np.ones(2))
    else:
        assert np.array_equal(spmv(other, np.ones(2)), RANDOM[0:2, 3:5].sum(1))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (slice(0, 7), r"inside 0\.\.6 of dimension 0, but got slice\(0, 7, None\)"),
        (slice(-2, None), r"inside 0\.\.6 of dimension 0"),
        (slice(4, 1, -1), r"inside 0\.\.6 of dimension 0"),
        (slice(3, 3), "1 element or more of dimension 0"),
        (DimSlice(1, 6, 1), "of extent 6, but got .*slice.1, 6, 1.*, whose last element is 6"),
        (DimSlice(0, 3, 3), "whose last element is 6"),
        (DimSlice(None, 2, 1), "expected offset, size and stride of dimension 0"),
    ],
)
def test_slices_out_of_range(part: slice | DimSlice, message: str) -> None:
    with pytest.raises(OperandError, match=message):
        tensor(RANDOM, "CSR").slice(part, slice(None))


def test_what_is_refused() -> None:
    made = tensor(RANDOM, "CSR")
    with pytest.raises(RankError, match="a slice for each of the 2 dimensions, but got 1"):
        made.slice(slice(0, 1))
    with pytest.raises(OperandError, match="expected a slice of dimension 1, but got 3"):
        made.slice(slice(0, 1), 3)
    with pytest.raises(UnsupportedError, match="levels are its dimensions"):
        made.convert("BSR(2, 2)").slice(slice(0, 1), slice(0, 1))
    with pytest.raises(UnsupportedError, match="slice the array"):
        made.convert("dense").slice(slice(0, 1), slice(0, 1))
    with pytest.raises(ExtentError, match=r"of extent 4 in dimension 0, .*but got shape \(6, 7\).*A\.slice"):
        made.convert(made.slice(slice(1, 5), slice(0, 7)).encoding)
    with pytest.raises(OperandError, match=r"expected integers as the bounds of dimension 0"):
        made.slice(slice(0.5, 2), slice(None))
    part = made.slice(slice(1, 5), slice(0, 7))
    with pytest.raises(UnsupportedError, match=r"expected buffers of a whole tensor, .*then take A\.slice"):
        SparseTensor.from_levels(
            part.encoding, part.shape, part.storage.positions, part.storage.coordinates, part.storage.values
        )
    with pytest.raises(UnsupportedError, match="expected storage of a whole tensor"):
        level_view(made.slice(slice(1, 5), slice(0, 7)))
