"""A caller's buffers: every rule of every level, by the text of its error; memory shared where it can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.tensor.reference import MATRICES, addresses, dense_arrays, fits_structured, to_dense
from mlir_sparse.encoding import Encoding, encoding
from mlir_sparse.errors import (
    CoordinatesError,
    DTypeError,
    PositionsError,
    RankError,
    SparseError,
    StorageError,
    WidthError,
)
from mlir_sparse.tensor import SparseTensor, tensor

LOOSE = "(i, j) -> (i : dense, j : loose_compressed)"
ANY_ORDER = "(i, j) -> (i : dense, j : compressed(nonordered))"
REPEATS = "(i, j) -> (i : dense, j : compressed(nonunique))"
UNORDERED_COO = "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))"
COO_3 = "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)"


def csr(pos: object, crd: object, values: object = None, stored_as: str | Encoding = "CSR") -> SparseTensor:
    """Returns a 3 x 4 tensor of two levels."""
    given_values = np.ones(len(crd)) if values is None else values  # type: ignore[arg-type]
    return SparseTensor.from_levels(stored_as, (3, 4), [None, pos], [None, crd], given_values)


def coo(rows: object, columns: object, stored_as: str = "COO", pos: object = None) -> SparseTensor:
    count = len(rows)  # type: ignore[arg-type]
    positions = [[0, count] if pos is None else pos, None]
    return SparseTensor.from_levels(stored_as, (3, 4), positions, [rows, columns], np.ones(count))


POSITIONS = [
    ([0, 1, 2], [0, 1], r"expected positions\[1\] to have length 4, one more than the places .*, but got 3"),
    ([1, 1, 1, 2], [0, 1], r"expected positions\[1\] to start at 0, but got 1 at positions\[1\]\[0\]"),
    ([0, 2, 1, 2], [0, 1], r"expected positions\[1\] to never decrease, but got 1 after 2 at positions\[1\]\[2\]"),
    ([0, 1, 1, 1], [0, 1], r"to end at 2, the length of coordinates\[1\], but got 1 at positions\[1\]\[3\]"),
    ([0, 1, 1, 9], [0, 1], r"to end at 2, the length of coordinates\[1\], but got 9 at positions\[1\]\[3\]"),
    ([0, -1, 1, 2], [0, 1], r"expected positions\[1\] to never decrease, but got -1 after 0 at positions\[1\]\[1\]"),
]


@pytest.mark.parametrize(("pos", "crd", "text"), POSITIONS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_positions(pos: list[int], crd: list[int], text: str, dtype: type) -> None:
    with pytest.raises(PositionsError, match=text):
        csr(np.array(pos, dtype), np.array(crd, dtype))


COORDINATES = [
    ([0, 1, 2, 3], [0, 4, 2], r"coordinates\[1\] from 0 to 3, below the size 4 of level 1, but got 4 .*\[1\]\[1\]"),
    ([0, 1, 2, 3], [0, 1, -2], r"coordinates\[1\] from 0 to 3, .*, but got -2 at coordinates\[1\]\[2\]"),
    ([0, 1, 3, 3], [3, 2, 1], r"coordinates\[1\] to ascend below each parent, but got 1 after 2 at .*\[1\]\[2\]"),
    ([0, 1, 3, 3], [3, 2, 2], r"to differ below one parent, but got 2 again at .*\[1\]\[2\], as at .*\[1\]\[1\]"),
]


@pytest.mark.parametrize(("pos", "crd", "text"), COORDINATES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_coordinates(pos: list[int], crd: list[int], text: str, dtype: type) -> None:
    with pytest.raises(CoordinatesError, match=text):
        csr(np.array(pos, dtype), np.array(crd, dtype))


def test_order_and_uniqueness_are_as_the_encoding_says() -> None:
    assert csr([0, 1, 3, 3], [3, 2, 1], stored_as=ANY_ORDER).to_numpy()[1].tolist() == [0, 1, 1, 0]
    assert csr([0, 1, 3, 3], [3, 2, 2], stored_as=REPEATS).to_numpy()[1].tolist() == [0, 0, 2, 0]
    with pytest.raises(
        CoordinatesError, match=r"but got 1 again at coordinates\[1\]\[2\], as at coordinates\[1\]\[0\]"
    ):
        csr([0, 3, 3, 3], [1, 3, 1], stored_as=ANY_ORDER)
    with pytest.raises(CoordinatesError, match=r"to ascend .* but got 1 after 2"):
        csr([0, 1, 3, 3], [3, 2, 1], stored_as=REPEATS)


def test_coo_is_ordered_by_all_its_levels() -> None:
    assert coo([0, 0, 2], [1, 3, 0]).to_numpy().sum() == 3
    with pytest.raises(CoordinatesError, match=r"coordinates\[0\] to ascend .* 1 after 2 at coordinates\[0\]\[1\]"):
        coo([2, 1], [0, 1])
    with pytest.raises(CoordinatesError, match=r"coordinates\[1\] to ascend .* 1 after 2 at coordinates\[1\]\[1\]"):
        coo([1, 1], [2, 1])
    with pytest.raises(CoordinatesError, match=r"coordinates\[1\] to differ .* 2 again at coordinates\[1\]\[2\]"):
        coo([0, 1, 1], [1, 2, 2])
    with pytest.raises(CoordinatesError, match=r"coordinates\[1\] from 0 to 3"):
        coo([0, 1], [0, 4])


def test_unordered_coo_has_no_duplicates_wherever_they_are() -> None:
    assert coo([2, 0, 2], [1, 3, 0], UNORDERED_COO).to_numpy().sum() == 3
    with pytest.raises(
        CoordinatesError, match=r"but got 1 again at coordinates\[1\]\[2\], as at coordinates\[1\]\[0\]"
    ):
        coo([2, 0, 2], [1, 3, 1], UNORDERED_COO)


def test_a_unique_level_above_a_singleton_has_one_entry_a_coordinate() -> None:
    with pytest.raises(CoordinatesError, match=r"coordinates\[0\] to differ below one parent, but got 1 again"):
        coo([0, 1, 1], [1, 2, 3], "(i, j) -> (i : compressed, j : singleton)")


def test_three_levels_of_coo() -> None:
    def made(i: list[int], j: list[int], k: list[int]) -> SparseTensor:
        return SparseTensor.from_levels(COO_3, (2, 2, 2), [[0, len(i)], None, None], [i, j, k], np.ones(len(i)))

    assert made([0, 0, 1], [0, 0, 0], [0, 1, 0]).nse == 3
    with pytest.raises(CoordinatesError, match=r"coordinates\[2\] to ascend"):
        made([0, 0, 1], [0, 0, 0], [1, 0, 0])
    with pytest.raises(CoordinatesError, match=r"coordinates\[2\] to differ"):
        made([0, 0, 1], [0, 0, 0], [1, 1, 0])
    with pytest.raises(StorageError, match=r"coordinates\[2\] to have length 3, that of coordinates\[0\].* but got 2"):
        made([0, 0, 1], [0, 0, 0], [1, 1])


def test_separate_singleton_arrays_have_one_length() -> None:
    with pytest.raises(CoordinatesError, match=r"coordinates\[1\] to have length 2, .* the level above, but got 1"):
        coo([0, 1], [1], "SoA-COO")


def test_loose_levels_may_leave_gaps() -> None:
    # Gaps hold anything: a row of three places padded to width two each.
    pos, crd = [0, 2, 2, 3, 4, 4], np.array([1, 3, 0, 77], np.int32)
    made = csr(pos, crd, np.array([1.0, 2.0, 3.0, 99.0]), LOOSE)
    assert made.to_numpy().tolist() == [[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0]]
    assert made.nse == 3
    assert made.convert("CSR").storage.values.tolist() == [1, 2, 3]
    with pytest.raises(PositionsError, match=r"to have length 6, two for each place of the level above, but got 4"):
        csr([0, 1, 2, 4], crd, None, LOOSE)
    with pytest.raises(PositionsError, match=r"to never decrease, but got 1 after 2 at positions\[1\]\[2\]"):
        csr([0, 2, 1, 3, 4, 4], crd, None, LOOSE)
    with pytest.raises(PositionsError, match=r"to stay within 4, the length of coordinates\[1\], but got 5"):
        csr([0, 2, 2, 3, 4, 5], crd, None, LOOSE)
    with pytest.raises(CoordinatesError, match=r"but got 77 at coordinates\[1\]\[3\]"):
        csr([0, 2, 2, 3, 3, 4], crd, None, LOOSE)
    with pytest.raises(CoordinatesError, match=r"to ascend below each parent, but got 1 after 3"):
        csr([0, 2, 2, 3, 3, 3], np.array([3, 1, 0]), None, LOOSE)


def test_structured_levels() -> None:
    def made(crd: list[int]) -> SparseTensor:
        return SparseTensor.from_levels("NV_24", (1, 8), [None] * 3, [None, None, crd], np.ones(4))

    assert made([0, 3, 1, 2]).to_numpy().tolist() == [[1, 0, 0, 1, 0, 1, 1, 0]]
    with pytest.raises(CoordinatesError, match=r"coordinates\[2\] to have length 4, n for each block .*, but got 3"):
        made([0, 3, 1])
    with pytest.raises(CoordinatesError, match=r"coordinates\[2\] from 0 to 3, .* but got 4 at coordinates\[2\]\[3\]"):
        made([0, 3, 1, 4])
    with pytest.raises(CoordinatesError, match=r"to ascend .* but got 0 after 3 at coordinates\[2\]\[1\]"):
        made([3, 0, 1, 2])


def test_values() -> None:
    with pytest.raises(StorageError, match=r"expected 2 values, one for each place of the innermost .*, but got 3"):
        csr([0, 1, 2, 2], [0, 1], np.ones(3))
    with pytest.raises(StorageError, match=r"expected 4 values, .*, but got 3"):
        SparseTensor.from_levels("dense", (2, 2), [None] * 2, [None] * 2, np.ones(3))


def test_values_of_blocks_come_in_any_shape_and_with_zeros_beyond_the_edge() -> None:
    bsr = encoding("BSR", block=(2, 2))
    positions, coordinates = [None, [0, 1, 2], None, None], [None, [0, 1], None, None]
    blocks = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 0.0], [0.0, 0.0]]])
    made = SparseTensor.from_levels(bsr, (3, 3), positions, coordinates, blocks)
    assert made.to_numpy().tolist() == [[1, 2, 0], [3, 4, 0], [0, 0, 5]]
    assert made.storage.values.ctypes.data == blocks.ctypes.data
    blocks[1, 0, 1] = 6.0
    with pytest.raises(StorageError, match=r"zeros in the parts of blocks beyond shape \(3, 3\), .* 6.0 at \(2, 3\)"):
        SparseTensor.from_levels(bsr, (3, 3), positions, coordinates, blocks)


def test_arrays_of_the_wrong_kind() -> None:
    with pytest.raises(DTypeError, match=r"expected positions\[1\] of integers, but got float64"):
        csr(np.array([0.0, 1, 2, 2]), [0, 1])
    with pytest.raises(DTypeError, match=r"expected coordinates\[1\] of integers, but got bool"):
        csr([0, 1, 2, 2], np.array([False, True]))
    with pytest.raises(DTypeError, match=r"but got longdouble|float128: convert with astype\('float64'\)"):
        csr([0, 1, 2, 2], [0, 1], np.ones(2, np.longdouble))
    with pytest.raises(RankError, match=r"expected coordinates\[1\] of one axis, but got shape \(1, 2\)"):
        csr([0, 1, 2, 2], np.array([[0, 1]]))


def test_levels_that_are_missing_or_too_many() -> None:
    with pytest.raises(RankError, match=r"expected positions of 2 levels .*, but got 1"):
        SparseTensor.from_levels("CSR", (1, 1), [[0, 0]], [None, []], [])
    with pytest.raises(StorageError, match=r"expected None as positions\[0\] of level 0 \(dense\), but got an array"):
        SparseTensor.from_levels("CSR", (1, 1), [[0, 0], [0, 0]], [None, []], [])
    with pytest.raises(StorageError, match=r"expected an array as coordinates\[1\] of level 1 .*, but got None"):
        SparseTensor.from_levels("CSR", (1, 1), [None, [0, 0]], [None, None], [])
    with pytest.raises(RankError, match=r"expected rank 2 for CSR, but got 3"):
        SparseTensor.from_levels("CSR", (1, 1, 1), [None, [0, 0]], [None, []], [])


def test_named_widths_hold_the_data_or_are_refused() -> None:
    narrow = encoding("CSR", pos_width=8, crd_width=8)
    made = SparseTensor.from_levels(narrow, (1, 256), [None, [0, 255]], [None, np.arange(1, 256)], np.ones(255))
    assert [b.dtype.name for b in made.storage.buffers()] == ["uint8", "uint8", "float64"]
    assert made.to_numpy()[0, 255] == 1
    with pytest.raises(WidthError, match=r"positions of at most 255 for posWidth = 8, but got 256: use posWidth = 16"):
        SparseTensor.from_levels(narrow, (1, 256), [None, [0, 256]], [None, np.arange(256)], np.ones(256))
    with pytest.raises(WidthError, match=r"coordinates\[1\] from 0 to 255 for crdWidth = 8, but got 256"):
        SparseTensor.from_levels(narrow, (1, 257), [None, [0, 1]], [None, [256]], np.ones(1))
    with pytest.raises(WidthError, match=r"coordinates\[1\] from 0 to 255 for crdWidth = 8, but got -1"):
        SparseTensor.from_levels(narrow, (1, 257), [None, [0, 1]], [None, [-1]], np.ones(1))


def test_more_entries_than_posWidth_32_counts_are_refused_without_allocating_them() -> None:  # noqa: N802
    entries = 2**31 + 5
    crd = np.broadcast_to(np.int32(0), (entries,))
    with pytest.raises(
        WidthError, match="expected positions of at most 2147483647 for posWidth = 32, but got 2147483653"
    ):
        SparseTensor.from_levels(
            encoding("CSR", pos_width=32, crd_width=32),
            (1, 2**40),
            [None, np.array([0, entries])],
            [None, crd],
            np.ones(1),
        )


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_memory_is_shared_for_every_width_signed_or_not(width: int, signed: bool) -> None:
    dtype = np.dtype(f"{'i' if signed else 'u'}{width // 8}")
    pos, crd, values = np.array([0, 1, 2, 2], dtype), np.array([3, 0], dtype), np.array([1.0, 2.0])
    made = csr(pos, crd, values, encoding("CSR", pos_width=width, crd_width=width))
    assert addresses(made.storage.buffers()) == addresses([pos, crd, values])
    assert made.to_numpy()[0, 3] == 1


def test_an_interleaved_array_is_shared_by_its_levels() -> None:
    flat = np.array([0, 1, 0, 3, 2, 0], np.int32)
    made = coo(flat[0::2], flat[1::2])
    assert made.storage.buffers()[1].ctypes.data == flat.ctypes.data
    assert made.storage.buffers()[1].tolist() == flat.tolist()
    assert made.to_coo()[0].tolist() == [[0, 0, 2], [1, 3, 0]]
    separate = coo(np.array([0, 0, 2], np.int32), np.array([1, 3, 0], np.int32))
    assert separate.storage.buffers()[1].tolist() == flat.tolist()


def test_what_lies_differently_is_copied_and_stays_as_it_was() -> None:
    pos = np.array([0, 9, 1, 9, 2, 9, 2, 9], ">i8")[::2]
    crd = np.array([9, 0, 9, 3], ">u2")[::-2]
    values = np.array([2.0, 9.0, 1.0], ">f4")[::-2]
    for array in (pos, crd, values):
        array.flags.writeable = False
    before = [a.copy() for a in (pos, crd, values)]
    made = csr(pos, crd, values)
    assert made.to_numpy().tolist() == [[0, 0, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0]]
    assert all(b.dtype.isnative and b.flags.c_contiguous and b.flags.aligned for b in made.storage.buffers())
    assert all(np.array_equal(a, b) for a, b in zip((pos, crd, values), before, strict=True))


def test_read_only_arrays_are_shared() -> None:
    pos, crd, values = np.array([0, 1, 1, 1], np.int32), np.array([3], np.int32), np.array([1.0])
    for array in (pos, crd, values):
        array.flags.writeable = False
    assert addresses(csr(pos, crd, values).storage.buffers()) == addresses([pos, crd, values])


def test_unaligned_arrays_are_copied() -> None:
    raw = bytearray(1 + 8 * 2)
    values = np.frombuffer(raw, np.float64, 2, 1)
    assert csr([0, 1, 2, 2], [0, 1], values).storage.values.flags.aligned


@pytest.mark.parametrize("stored_as", [pytest.param(enc, id=name) for name, enc in MATRICES])
@examples(12)
@given(data=st.data())
def test_damaged_buffers_are_refused_or_mean_what_they_say(stored_as: Encoding, data: st.DataObject) -> None:
    """One number is changed: either validation says so, or the buffers can be read within their bounds."""
    dense = fits_structured(data.draw(dense_arrays(2)), stored_as)
    storage = tensor(dense, stored_as).storage
    buffers = [np.array(b) for b in storage.buffers()]
    which = data.draw(st.integers(0, len(buffers) - 1))
    if which == len(buffers) - 1 or buffers[which].size == 0:
        return
    at = data.draw(st.integers(0, buffers[which].size - 1))
    info = np.iinfo(buffers[which].dtype)
    buffers[which][at] = data.draw(
        st.integers(max(info.min, -20), min(info.max, 20)) | st.sampled_from([info.min, info.max])
    )
    positions, coordinates = _by_level(stored_as, storage, buffers)
    try:
        made = SparseTensor.from_levels(storage.encoding, dense.shape, positions, coordinates, buffers[-1])
    except SparseError:
        return
    assert np.array_equal(to_dense(made), made.to_numpy())


def _by_level(stored_as: Encoding, storage: Any, buffers: list[Any]) -> tuple[list[Any], list[Any]]:
    made = type(storage).from_buffers(storage.encoding, storage.level_sizes, buffers)
    return list(made.positions), list(made.coordinates)


def test_values_written_beyond_the_edge_of_blocks_are_named() -> None:
    """Loops read the parts of blocks beyond the last row and column, which hold zeros, or -0.0."""
    dense = np.arange(1.0, 16.0).reshape(3, 5)
    A = tensor(dense, "BSR(2, 2)")
    A.storage.values[...] *= -1
    np.testing.assert_array_equal(A.to_numpy(), -dense)
    A.storage.values[...] = 7
    with pytest.raises(StorageError, match=r"zeros in the parts of blocks beyond shape \(3, 5\), .* 7.0 at \(0, 5\)"):
        A.to_numpy()
