"""Parts along the outermost level share entries with the whole; joined parts are the whole again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.machine import machine_profile
from mlir_sparse.tensor.level_ranges import joined_along, part_between

# (storage, dimension of its outermost level, block size)
RUNS = [
    ("Dense", 0, 1), ("CSR", 0, 1), ("CSC", 1, 1), ("DCSR", 0, 1), ("DCSC", 1, 1), ("COO", 0, 1), ("SoA-COO", 0, 1),
    ("NonuniqueCOO", 0, 1), ("LooseCSR", 0, 1), ("NV_24", 0, 1), ("BSR(2, 4)", 0, 2), ("BSC(2, 4)", 1, 4),
    ("CSB", 0, 4), ("CompressedDense", 0, 1), ("(i, j) -> (i : dense, j : compressed(nonordered))", 0, 1),
    ("(i, j) -> (i : loose_compressed, j : compressed)", 0, 1),
    ("(i, j) -> (i floordiv 4 : dense, j : compressed, i floordiv 2 mod 2 : dense, i mod 2 : dense)", 0, 4),
]  # fmt: skip
# Where the outermost level does not number a dimension, or others see where a coordinate stands.
NO_RUNS = ["DIA", "SlotELL", "HashedRows", "(i, j) -> (i : dense, j - i : compressed)", "BatchedCSR"]
SHAPE = (12, 8)


def _dense(storage: str) -> np.ndarray:
    random = np.random.default_rng(7)
    array = np.where(random.random(SHAPE) < 0.4, random.integers(1, 9, SHAPE), 0).astype(float)
    if storage == "NV_24":
        array[:, 1::2] = 0
    return array


def _checked(part: ms.SparseTensor) -> ms.SparseTensor:
    """Returns the tensor after checking every rule of its encoding, as for a caller's arrays."""
    storage = part.storage
    return ms.SparseTensor.from_levels(
        part.encoding, part.shape, storage.positions, storage.coordinates, storage.values
    )


@pytest.mark.parametrize("widths", [{}, {"pos_width": 8, "crd_width": 8}], ids=["wide", "narrow"])
@pytest.mark.parametrize(("storage", "dim", "block"), RUNS)
def test_each_part_is_the_slice_and_all_joined_are_the_whole(
    storage: str, dim: int, block: int, widths: dict[str, int]
) -> None:
    array = _dense(storage)
    whole = ms.tensor(array, ms.encoding(storage, rank=2, **widths))
    ends = range(0, SHAPE[dim] + 1, block)
    for low in ends:
        for high in (end for end in ends if end >= low):
            part = part_between(whole, dim, low, high)
            assert part is not None
            assert part.encoding == whole.encoding
            cut = (slice(None),) * dim + (slice(low, high),)
            np.testing.assert_array_equal(_checked(part).to_numpy(), array[cut])
            around = part_between(whole, dim, 0, low), part, part_between(whole, dim, high, SHAPE[dim])
            joined = joined_along([one for one in around if one is not None], dim)
            assert joined is not None
            np.testing.assert_array_equal(_checked(joined).to_numpy(), array)


@pytest.mark.parametrize(("storage", "dim", "block"), RUNS)
def test_positions_and_coordinates_widen_where_sums_need_it(storage: str, dim: int, block: int) -> None:
    array = _dense(storage)
    narrow = ms.tensor(array, ms.encoding(storage, rank=2, pos_width=8, crd_width=8))
    joined = np.concatenate([narrow] * 40, axis=dim)
    np.testing.assert_array_equal(_checked(joined).to_numpy(), np.concatenate([array] * 40, axis=dim))
    assert joined.encoding.with_widths(0, 0) == narrow.encoding.with_widths(0, 0)


def test_parts_share_entries_and_other_slices_do_not() -> None:
    whole = ms.tensor(_dense("CSR"), "CSR")
    part = whole[3:9]
    part.storage.values[:] = 50
    assert (whole.storage.values == 50).sum() == part.nse
    assert not np.shares_memory(whole[:, 1:3].storage.values, whole.storage.values)
    assert not np.shares_memory(whole[9:3:-1].storage.values, whole.storage.values)


@pytest.mark.parametrize("storage", NO_RUNS)
def test_other_storage_is_cut_and_joined_by_entries(storage: str) -> None:
    random = np.random.default_rng(3)
    array = np.where(random.random((3, *SHAPE)) < 0.3, 1.0, 0) if storage == "BatchedCSR" else _dense(storage)
    whole = ms.tensor(array, storage)
    assert part_between(whole, 0, 1, 3) is None
    np.testing.assert_array_equal(whole[1:3].to_numpy(), array[1:3])
    np.testing.assert_array_equal(np.concatenate([whole, whole]).to_numpy(), np.concatenate([array, array]))


@pytest.mark.parametrize(("low", "high"), [(1, 4), (2, 5), (0, 3)])
def test_bounds_inside_blocks_are_cut_by_entries(low: int, high: int) -> None:
    array = _dense("BSR(2, 4)")
    blocks = ms.tensor(array, "BSR(2, 4)")
    assert part_between(blocks, 0, low, high) is None
    np.testing.assert_array_equal(blocks[low:high].to_numpy(), array[low:high])
    parts = [blocks[low:high], blocks[high:]]
    np.testing.assert_array_equal(np.concatenate(parts).to_numpy(), array[low:])


def test_parts_of_unlike_types_join_as_arrays_do() -> None:
    array = _dense("CSR")
    parts = [ms.tensor(array, "CSR"), ms.tensor(array.astype(np.float32), "CSR"), ms.tensor(array, "COO")]
    joined = np.concatenate(parts)
    assert joined.dtype == np.float64
    np.testing.assert_array_equal(joined.to_numpy(), np.concatenate([array] * 3))


@pytest.mark.parametrize("shape", [(0, 8), (4, 0), (1, 1)])
def test_empty_parts_join(shape: tuple[int, int]) -> None:
    part = ms.tensor(np.zeros(shape), "CSR")
    assert _checked(np.concatenate([part[:0], part, part, part[shape[0] :]])).shape == (2 * shape[0], shape[1])


@pytest.mark.parametrize("kind", ["f4", "i1", "c16", "?"])
def test_a_kernel_takes_a_part_as_it_takes_a_copy(kind: str) -> None:
    random = np.random.default_rng(11)
    array = np.where(random.random((40, 30)) < 0.2, random.integers(1, 5, (40, 30)), 0).astype(kind)
    for storage in ("CSR", "DCSR", "COO", "BSR(2, 2)"):
        part = ms.tensor(array, storage)[6:32]
        rows = ms.evaluate("y(i) = A(i,j)", A=part)
        np.testing.assert_array_equal(rows, ms.evaluate("y(i) = A(i,j)", A=ms.tensor(array[6:32], storage)))


def test_a_pickled_part_and_a_pickled_slice_have_what_they_show() -> None:
    whole = ms.tensor(np.diag(np.arange(1.0, 20001)), "COO")
    few = whole[100:110]
    assert len(pickle.dumps(few)) < 3000
    view = whole.slice(slice(100, 130, 3), slice(0, 20000))
    sent = pickle.dumps(view)
    assert len(sent) < 3000
    back = pickle.loads(sent)
    assert back.shape == view.shape
    assert back.encoding.has_slices
    np.testing.assert_array_equal(back.to_numpy(), view.to_numpy())


@pytest.mark.parametrize("past", [1, 1 << 40])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f8", "c16"])
def test_arrays_are_joined_bit_for_bit_inside_and_past_the_caches(dtype: str, past: int) -> None:
    """At all addresses: past the caches whole lines are written, and what is before and behind them apart."""
    random = np.random.default_rng(3)
    kind = np.dtype(dtype)
    _native.set_machine_fill(past)
    try:
        for lengths in ((0, 0), (1, 2), (5, 64, 0, 3), (130, 7, 71), (1000,)):
            parts = [
                np.frombuffer(random.bytes(kind.itemsize * (length + 3)), kind)[at % 3 :][:length]
                for at, length in enumerate(lengths)
            ]
            for shift in range(4):
                out = np.zeros(sum(lengths) + 8, kind)
                _native.concatenate(parts, [0] * len(parts), out[shift : shift + sum(lengths)])
                assert out[shift : shift + sum(lengths)].tobytes() == b"".join(part.tobytes() for part in parts)
                assert not out[:shift].tobytes().strip(b"\0")
                assert not out[shift + sum(lengths) :].tobytes().strip(b"\0")
    finally:
        _native.set_machine_fill(machine_profile().number("filled"))
