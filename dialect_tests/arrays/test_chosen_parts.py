"""Rows, columns and elements of tensors at any places are those of NumPy's arrays, in every storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from mlir_sparse.tensor.matched_keys import matched_keys

Array = np.ndarray[Any, Any]
_NARROW = "(i, j) -> (i : dense, j : compressed), posWidth = 16, crdWidth = 8"
STORAGES = ["CSR", "CSC", "COO", "DCSR", "DCSC", "BSR(2, 3)", "ELL", f"#sparse_tensor.encoding<{{ map = {_NARROW} }}>"]
STORAGES += ["(i, j) -> (i : dense, j : compressed(nonordered))"]


def _dense(rows: int, columns: int, kind: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    found: Array = np.where(rng.random((rows, columns)) < 0.4, rng.integers(1, 9, (rows, columns)), 0).astype(kind)
    return found


def _check_levels(found: ms.SparseTensor) -> None:
    """Raises unless what is stored keeps all rules of its encoding."""
    stored = found.storage
    arrays = stored.positions, stored.coordinates, stored.values
    again = ms.SparseTensor.from_levels(found.encoding, found.shape, *arrays)
    np.testing.assert_array_equal(as_array(again), as_array(found))


@st.composite
def _of_axis(draw: st.DrawFn, extent: int) -> Any:
    """An index of one axis: a slice, or coordinates in any order, with repeats and from the end."""
    if draw(st.booleans()):
        return draw(st.slices(extent))
    if draw(st.booleans()):
        return np.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)), bool)
    if extent == 0:
        return np.zeros(0, np.int64)
    width = draw(st.sampled_from([np.int8, np.int32, np.int64, np.uint8, np.uint64]))
    least = 0 if np.dtype(width).kind == "u" else draw(st.sampled_from([0, -extent]))
    return np.array(draw(st.lists(st.integers(least, extent - 1), max_size=9)), width)


@st.composite
def _keys(draw: st.DrawFn, shape: tuple[int, int]) -> Any:
    match draw(st.sampled_from(["one", "both", "outer", "elements", "row", "column", "grid"])):
        case "one":
            return draw(_of_axis(shape[0]))
        case "both":
            first = draw(_of_axis(shape[0]))
            return first, draw(_of_axis(shape[1]) if isinstance(first, slice) else st.slices(shape[1]))
        case "outer":
            places = [st.lists(st.integers(0, max(n - 1, 0)), max_size=5 if n else 0) for n in shape]
            return np.ix_(*(np.array(draw(one), np.int64) for one in places))
        case "row" if shape[0]:
            return draw(st.integers(0, shape[0] - 1)), draw(_of_axis(shape[1]))
        case "column" if shape[1]:
            return draw(_of_axis(shape[0])), draw(st.integers(-shape[1], shape[1] - 1))
        case "grid" if min(shape):
            # The axes of the arrays are not those of the matrix.
            return np.arange(shape[0])[None, :], np.arange(min(shape[1], 3))[:, None]
        case "elements" if min(shape):
            count = draw(st.integers(0, 9))
            several = [
                draw(st.lists(st.integers(draw(st.sampled_from([0, -n])), n - 1), min_size=count, max_size=count))
                for n in shape
            ]
            return tuple(np.array(one, np.int64) for one in several)
        case _:
            return slice(None), slice(None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("storage", STORAGES)
def test_parts_are_those_of_arrays(storage: str, data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.sampled_from([0, 1, 2, 7, 30]), st.sampled_from([0, 1, 3, 8, 40])))
    kind = data.draw(st.sampled_from(["f8", "f4", "i1", "?", "c16", "i2"]))
    dense = _dense(*shape, kind, data.draw(st.integers(0, 9)))
    A, key = ms.tensor(dense, storage), data.draw(_keys(shape))
    found, wanted = A[key], dense[key]
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(as_array(found), wanted)
    if isinstance(found, ms.SparseTensor):
        _check_levels(found)


@pytest.mark.parametrize("storage", ["CSR", "CSC"])
def test_large_parts_on_threads(storage: str) -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 3000, 400_000), rng.integers(0, 2000, 400_000)
    A = ms.tensor((np.stack([rows, columns]), rng.random(400_000)), storage, shape=(3000, 2000))
    dense = A.to_numpy()
    order, some = rng.permutation(2000), rng.integers(0, 3000, 5000)
    for key in ((slice(None), order), some, (slice(None), rng.random(2000) < 0.3), np.ix_(some[:900], order[:700])):
        np.testing.assert_array_equal(A[key].to_numpy(), dense[key])
    at = some, rng.integers(0, 2000, 5000)
    np.testing.assert_array_equal(A[at].to_numpy(), dense[at])


@pytest.mark.parametrize("storage", ["CSR", "CSC"])
@pytest.mark.parametrize("wrong", [np.array([0, 3]), np.array([-4, 0]), np.array([2**64 - 1, 0], np.uint64)])
def test_places_out_of_range_are_refused(storage: str, wrong: Array) -> None:
    A, right = ms.tensor(np.eye(3), storage), np.array([0, 1])
    for key in (wrong, (slice(None), wrong), (wrong, right), (right, wrong)):
        with pytest.raises(ms.IndexRangeError, match="expected indices from -3 to 2"):
            A[key]


def test_stored_zeros_and_nans_stay() -> None:
    A = ms.tensor((np.array([[0, 0, 1], [0, 2, 1]]), np.array([0.0, np.nan, -0.0])), "CSR", shape=(2, 3))
    assert A[[1, 0, 0]].nse == 5
    assert A[:, [2, 0]].nse == 2
    assert np.signbit(A[[1], [1]].storage.values[0])
    assert np.isnan(A[:, [2]].to_numpy()[0, 0])


def test_parts_beyond_narrow_coordinates_have_wider_ones() -> None:
    A = ms.tensor(_dense(4, 200, "f8", 1), STORAGES[7])
    places = np.arange(600) % 200
    found = A[:, places]
    assert found.encoding.crd_width == 64
    np.testing.assert_array_equal(found.to_numpy(), A.to_numpy()[:, places])
    assert A[:, places[:256]].encoding.crd_width == 8


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("beyond", [0, 1, 256, 2**16, 2**32])
def test_places_beyond_what_coordinates_count_to_have_no_entry(width: int, beyond: int) -> None:
    kind = f"#sparse_tensor.encoding<{{ map = (i, j) -> (i : dense, j : compressed), crdWidth = {width} }}>"
    A = ms.tensor((np.array([[0, 1], [44, 7]]), np.array([5.0, 6.0])), kind, shape=(2, 2**33))
    wanted = 5.0 if beyond == 0 else 0.0
    assert A.encoding.crd_width == width
    assert A[0, 44 + beyond] == wanted
    assert A[[0, 1], [44 + beyond, 7]].to_numpy().tolist() == [wanted, 6]


def test_an_axis_longer_than_memory_is_not_numbered() -> None:
    A = ms.tensor((np.array([[0, 1, 1], [5, 2**40, 2**50]]), np.arange(1.0, 4)), "CSR", shape=(2, 2**60))
    assert A[:, [2**50, 5]].to_numpy().tolist() == [[0, 1], [3, 0]]
    assert A[:, 2**40 : 2**60 : 2**40].nse == 2
    assert A[[1, 0], [2**40, 5]].to_numpy().tolist() == [2, 1]


def test_a_part_shares_nothing_with_its_tensor_but_for_a_run_of_lines() -> None:
    A = ms.tensor(_dense(6, 5, "f8", 2), "CSR")
    for key in (slice(None), (slice(None), slice(1, 4)), [0, 1], (slice(None, None, -1),)):
        assert not np.shares_memory(A[key].storage.values, A.storage.values)
    assert np.shares_memory(A[1:4].storage.values, A.storage.values)


_NUMBERS = st.lists(st.integers(0, 30), max_size=20)


@settings(max_examples=100, deadline=None)
@given(_NUMBERS, _NUMBERS, st.sampled_from([31, 2**60]))
def test_pairs_of_equal_numbers(stored: list[int], wanted: list[int], size: int) -> None:
    found = matched_keys(np.array(stored, np.int64), np.array(wanted, np.int64), size)
    pairs = sorted(zip(*(one.tolist() for one in found), strict=True))
    assert pairs == [(s, w) for s, a in enumerate(stored) for w, b in enumerate(wanted) if a == b]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", ["f8", "i1", "?"])
def test_matrices_side_by_side(storage: str, kind: str) -> None:
    for shapes in ([(4, 3), (4, 0), (4, 6)], [(0, 2), (0, 3)], [(1, 1)] * 5, [(3, 7)]):
        dense = [_dense(*shape, kind, at) for at, shape in enumerate(shapes)]
        found = np.concatenate([ms.tensor(one, storage) for one in dense], axis=1)
        np.testing.assert_array_equal(as_array(found), np.concatenate(dense, axis=1))
        turned = np.concatenate([ms.tensor(one.T, storage) for one in dense], axis=0)
        np.testing.assert_array_equal(as_array(turned), np.concatenate(dense, axis=1).T)
        _check_levels(found)


def test_matrices_side_by_side_have_the_widths_that_they_need() -> None:
    A = ms.tensor(_dense(4, 200, "f8", 1), STORAGES[7])
    found = np.concatenate([A, A], axis=1)
    np.testing.assert_array_equal(found.to_numpy(), np.concatenate([A.to_numpy()] * 2, axis=1))
    wide = ms.tensor((np.array([[0], [5]]), np.ones(1)), "CSR", shape=(2, 2**62))
    with pytest.raises(ms.TooLargeError):
        np.concatenate([wide, wide], axis=1)


@pytest.mark.parametrize("widths", [(0, 0), (8, 8), (32, 64), (64, 16)])
@pytest.mark.parametrize("storage", ["CSR", "CSC"])
def test_slices_of_matrices_by_lines(storage: str, widths: tuple[int, int]) -> None:
    """Beside NumPy's: empty ones, those with ends outside, steps in both directions, matrices without elements."""
    generator = np.random.default_rng(sum(widths) + len(storage))

    def chosen(extent: int) -> slice:
        ends = (
            int(end) if generator.random() < 0.8 else None for end in generator.integers(-extent - 3, extent + 4, 2)
        )
        step = int(generator.choice([1, 1, 1, 2, -1, -3]))
        return slice(*ends, None if step == 1 and generator.random() < 0.5 else step)

    for _ in range(150):
        shape = tuple(int(extent) for extent in generator.integers(0, 8, 2))
        dense = (generator.integers(1, 9, shape) * (generator.random(shape) < 0.5)).astype(
            generator.choice(["f8", "?"])
        )
        A = ms.tensor(dense, ms.encoding(storage).with_widths(*widths))
        rows, columns = map(chosen, shape)
        for key in ((rows, columns), rows, (slice(None), columns), (rows,), (rows, slice(None))):
            found = A[key]
            assert (found.shape, found.dtype) == (dense[key].shape, A.dtype)
            np.testing.assert_array_equal(found.to_numpy(), dense[key], err_msg=f"{shape} {key}")
            _check_levels(found)


def test_what_shares_entries_with_the_whole() -> None:
    A = ms.tensor(np.arange(1.0, 26).reshape(5, 5), "CSR")
    for key, shared in ((slice(1, 3), True), ((slice(1, 3), slice(None)), True), ((slice(1, 3), slice(0, 2)), False)):
        assert np.shares_memory(A[key].storage.values, A.storage.values) is shared, key
    for key in (slice(None, None, 2), (slice(None), slice(1, 3)), slice(None), (slice(None), slice(None, None, -1))):
        assert not np.shares_memory(A[key].storage.values, A.storage.values), key
