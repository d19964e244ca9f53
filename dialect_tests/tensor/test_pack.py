"""Packing against NumPy's sums and SciPy's conversions; every format read back by its definition."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.tensor.reference import MATRICES, WHOLE, dense_arrays, fits_structured, same, to_dense
from mlir_sparse import _native
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.encoding import Encoding, encoding
from mlir_sparse.errors import (
    CoordinatesError,
    DTypeError,
    EncodingError,
    OperandError,
    RankError,
    StorageError,
    TooLargeError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.convert import pack_in_memory

NAMES = [dtype.name for dtype in DTYPES]
CASES = [pytest.param(enc, id=f"{name} {rank}-D") for rank in WHOLE for name, enc in WHOLE[rank]]
CASES += [pytest.param(enc, id=name) for name, enc in MATRICES[len(WHOLE[2]) :]]


@pytest.mark.parametrize("stored_as", CASES)
@examples(6)
@given(data=st.data())
def test_every_format_holds_what_it_was_given(stored_as: Encoding, data: st.DataObject) -> None:
    dense = fits_structured(data.draw(dense_arrays(stored_as.dim_rank, NAMES)), stored_as)
    packed = tensor(dense, stored_as)
    assert same(to_dense(packed), dense)
    assert same(packed.to_numpy(), dense)
    # What packing builds passes every check on a caller's buffers, without a copy.
    storage = packed.storage
    again = SparseTensor.from_levels(
        packed.encoding, dense.shape, storage.positions, storage.coordinates, storage.values
    )
    assert [b.ctypes.data for b in again.storage.buffers() if b.size] == [
        b.ctypes.data for b in storage.buffers() if b.size
    ]


@pytest.mark.parametrize("stored_as", CASES)
@examples(6)
@given(data=st.data())
def test_order_and_duplicates_of_entries_do_not_matter(stored_as: Encoding, data: st.DataObject) -> None:
    dense = fits_structured(data.draw(dense_arrays(stored_as.dim_rank, ["i32"])), stored_as)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dims = np.nonzero(dense)
    halves = np.concatenate([dense[dims] - 3, np.full(dims[0].size, 3, np.int32)])
    order = rng.permutation(halves.size)
    coordinates = np.concatenate([np.stack(dims)] * 2, axis=1)[:, order] if dims else np.empty((0, 0))
    packed = tensor((coordinates, halves[order]), stored_as, shape=dense.shape)
    assert same(to_dense(packed), dense)
    sorted_once = tensor((np.stack(dims), dense[dims]), stored_as, shape=dense.shape)
    for mine, theirs in zip(packed.storage.buffers(), sorted_once.storage.buffers(), strict=True):
        assert same(mine, theirs)


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("stored_as", ["CSR", "COO", "BSR", "DCSR"])
def test_duplicates_are_summed_in_the_element_type_in_the_order_given(dtype: str, stored_as: str) -> None:
    kind = next(d for d in DTYPES if d.name == dtype).numpy
    rng, size = np.random.default_rng(5), 50 if kind.itemsize > 1 or kind.kind in "iub" else 5
    coordinates = rng.integers(0, 3, (2, 400))
    numbers = rng.standard_normal(400) * size + (1j * rng.standard_normal(400) if dtype[0] == "c" else 0)
    values = numbers.astype(kind)
    expected = np.zeros((3, 3), kind)
    for i, j, value in zip(*coordinates, values, strict=True):
        with np.errstate(over="ignore"):
            expected[i, j] = expected[i, j] + value  # rounds, or wraps around, after each addition
    assert same(tensor((coordinates, values), stored_as, shape=(3, 3)).to_numpy(), expected)


def test_f16_rounds_as_numpy_does() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 1 << 16, (2, 20000), np.uint16).view(np.float16)
    keep = np.isfinite(a) & np.isfinite(b)
    a, b = a[keep], b[keep]
    with np.errstate(over="ignore"):
        expected = a + b
    where = np.arange(a.size)
    packed = tensor((np.tile(where, 2), np.concatenate([a, b])), "SparseVector", shape=(a.size,))
    assert np.array_equal(packed.storage.values.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("count", [0, 1, 5000])
@pytest.mark.parametrize(("name", "method"), [("CSR", "tocsr"), ("CSC", "tocsc")])
@pytest.mark.parametrize("order", ["sorted", "columns", "random"])
def test_rows_are_those_of_scipy(name: str, method: str, count: int, order: str) -> None:
    rng = np.random.default_rng(7)
    rows, columns = rng.integers(0, (300, 500), (count, 2)).T
    by = {"sorted": np.lexsort((columns, rows)), "columns": np.lexsort((rows, columns)), "random": np.arange(count)}
    rows, columns = rows[by[order]], columns[by[order]]
    values = rng.standard_normal(count)
    theirs = getattr(scipy.sparse.coo_array((values, (rows, columns)), shape=(300, 500)), method)()
    ours = tensor(([rows, columns], values), name, shape=(300, 500)).storage
    assert np.array_equal(ours.positions[1], theirs.indptr)
    assert np.array_equal(ours.coordinates[1], theirs.indices)
    np.testing.assert_allclose(ours.values, theirs.data)


def test_long_rows_and_runs_are_sorted() -> None:
    rng = np.random.default_rng(8)
    columns = rng.permutation(100_000)
    for name in ("CSR", "DCSR", "COO", "SoA-COO"):
        packed = tensor((np.stack([np.zeros_like(columns), columns]), columns * 2.0), name).storage
        assert np.array_equal(packed.coordinates[1], np.arange(100_000))
        assert np.array_equal(packed.values, np.arange(100_000) * 2.0)


def test_coordinates_whose_extents_overflow_one_key_are_sorted() -> None:
    shape = (2**62, 2**61, 2**62)
    rng = np.random.default_rng(9)
    coordinates = np.stack([rng.integers(0, extent, 500) for extent in shape])
    coordinates = np.concatenate([coordinates, coordinates[:, :1] + [[0], [0], [1]]], axis=1)
    packed = tensor((coordinates, np.arange(501.0)), "CSF", shape=shape)
    order = np.lexsort(coordinates[::-1])
    found, values = packed.to_coo()
    assert np.array_equal(found, coordinates[:, order])
    assert np.array_equal(values, order)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("shape", "dtype"), [((900, 700), "i4"), ((40, 90, 300), "i4"), ((9, 20, 31, 280), "i8")])
def test_sorted_entries_become_the_nodes_of_a_tree(shape: tuple[int, ...], dtype: str, threads: int) -> None:
    """More entries than one thread is given: a node may begin in one thread's part and end in another's."""
    random = np.random.default_rng(6)
    taken = np.sort(random.choice(int(np.prod(shape)), 250_000, replace=False))
    columns = [column.astype(dtype) for column in np.unravel_index(taken, shape)]
    values = random.random(taken.size)
    with _native.Limits(threads):
        stored = tensor((columns, values), "DCSR" if len(shape) == 2 else "CSF", shape=shape).storage
    starts = np.zeros(1, int)
    for level, column in enumerate(columns):
        before = np.stack(columns[: level + 1])
        nodes = np.flatnonzero(np.r_[True, np.any(before[:, 1:] != before[:, :-1], axis=0)])
        np.testing.assert_array_equal(stored.coordinates[level], column[nodes])
        np.testing.assert_array_equal(stored.positions[level], np.searchsorted(nodes, np.r_[starts, taken.size]))
        starts = nodes
    np.testing.assert_array_equal(stored.values, values)


def test_explicit_zeros_are_kept() -> None:
    for name in ("CSR", "DCSR", "COO", "CSC", "ELL"):
        packed = tensor(([[0, 1, 1], [1, 0, 0]], [0.0, 2.0, -2.0]), name, shape=(2, 2))
        assert (packed.nse, sorted(packed.storage.values.tolist())) == (2, [0.0, 0.0])


def test_duplicates_are_kept_where_asked_and_allowed() -> None:
    unique_not = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))"
    coordinates, values = [[1, 0, 1], [1, 0, 1]], [1.0, 2.0, 3.0]
    packed = tensor((coordinates, values), unique_not, shape=(2, 2), sum_duplicates=False)
    assert packed.storage.coordinates[0].tolist() == [0, 1, 1]
    assert packed.storage.values.tolist() == [2.0, 1.0, 3.0]
    assert packed.to_numpy().tolist() == [[2, 0], [0, 4]]
    assert tensor((coordinates, values), unique_not, shape=(2, 2)).storage.values.tolist() == [2.0, 4.0]
    with pytest.raises(EncodingError, match=r"expected an innermost level that is nonunique .* but got singleton"):
        tensor((coordinates, values), "COO", shape=(2, 2), sum_duplicates=False)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("swapped", [False, True])
def test_coordinates_of_any_integers(dtype: type, swapped: bool) -> None:
    kind = np.dtype(dtype).newbyteorder("S") if swapped else np.dtype(dtype)
    coordinates = np.array([[3, 9, 0, 9, 1], [2, 9, 1, 9, 0]]).astype(kind)[:, ::-2]  # strides below zero
    coordinates.flags.writeable = False
    values = np.array([1.0, 9.0, 2.0, 9.0, 3.0], ">f8")[::-2]
    before = (coordinates.copy(), values.copy())
    packed = tensor((coordinates, values), "CSR", shape=(4, 3))
    assert packed.to_numpy().tolist() == [[0, 2, 0], [3, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert np.array_equal(coordinates, before[0])
    assert np.array_equal(values, before[1])
    assert packed.dtype.isnative


@pytest.mark.parametrize("stored_as", ["CSR", "COO", "BSR", "CSC"])
def test_coordinates_out_of_range(stored_as: str) -> None:
    with pytest.raises(CoordinatesError, match=r"dimension 1 from 0 to 2, .* shape \(4, 3\), but got 3 at entry 1"):
        tensor(([[0, 1], [0, 3]], [1.0, 2.0]), stored_as, shape=(4, 3))
    with pytest.raises(CoordinatesError, match=r"dimension 0 from 0 to 3, .*, but got -1 at entry 2"):
        tensor(([[0, 1, -1], [0, 0, 0]], [1.0, 2.0, 3.0]), stored_as, shape=(4, 3))


def test_what_cannot_be_coordinates_and_values() -> None:
    with pytest.raises(DTypeError, match=r"expected coordinates\[0\] of integers, but got float64"):
        tensor(([[0.0, 1.0], [0, 1]], [1.0, 2.0]), "CSR", shape=(2, 2))
    with pytest.raises(
        CoordinatesError, match=r"one coordinate for each of the 3 values, but got 2 in coordinates\[0\]"
    ):
        tensor(([[0, 1], [0, 1]], [1.0, 2.0, 3.0]), "CSR", shape=(2, 2))
    with pytest.raises(RankError, match=r"coordinates of 2 dimensions, .* but got 3: transpose them"):
        tensor((np.zeros((3, 2), int), np.ones(3)), "CSR", shape=(2, 2))
    with pytest.raises(RankError, match=r"expected extents of 0 or more, but got shape \(2, -2\)"):
        tensor(([[0], [0]], [1.0]), "CSR", shape=(2, -2))
    with pytest.raises(OperandError, match=r"expected each of shape= as an integer, but got 2.5"):
        tensor(([[0], [0]], [1.0]), "CSR", shape=(2.5, 2))


def test_a_block_with_too_many_entries() -> None:
    with pytest.raises(StorageError, match=r"at most 2 entries in each block of 4 for structured\[2, 4\].* but got 3"):
        tensor([[1.0, 2.0, 0.0, 3.0]], "NV_24")


def test_a_second_entry_below_a_unique_singleton_parent() -> None:
    one_a_row = "(i, j) -> (i : compressed, j : singleton)"
    assert tensor(np.eye(3), one_a_row).storage.coordinates[1].tolist() == [0, 1, 2]
    with pytest.raises(StorageError, match=r"one entry below each coordinate of the unique level 0 .* coordinate 1 "):
        tensor(([[0, 1, 1], [0, 1, 2]], [1.0, 2.0, 3.0]), one_a_row)


@pytest.mark.parametrize(
    ("stored_as", "shape"),
    [
        ("Dense", (2**40, 2**40)),
        ("CSR", (2**61, 4)),
        ("CSR", (2**63 - 1, 4)),
        ("BSR", (2**61, 4)),
        ("NV_24", (2**40, 2**30)),
        ("(i, j) -> (i : compressed, j : dense)", (4, 2**60)),
        ("(i, j) -> (i : compressed, j : dense)", (4, 2**63 - 1)),
    ],
)
def test_too_large_for_memory_is_refused_with_the_figure(stored_as: str, shape: tuple[int, int]) -> None:
    with pytest.raises(TooLargeError, match=r"fits? in the [\d.]+ .iB of memory available, but got [\d.e+]+ .iB"):
        tensor(([[1], [1]], [1.0]), stored_as, shape=shape)


def test_huge_shapes_are_no_burden_for_compressed_levels() -> None:
    shape = (2**62, 2**62)
    packed = tensor(([[2**62 - 1, 0], [5, 2**61]], [1.0, 2.0]), "DCSR", shape=shape)
    assert packed.storage.coordinates[0].tolist() == [0, 2**62 - 1]
    assert (packed.encoding.pos_width, packed.encoding.crd_width) == (32, 64)
    with pytest.raises(TooLargeError, match="a dense array of shape"):
        packed.to_numpy()


def test_n_m_without_blocks_is_refused_with_a_way_out() -> None:
    with pytest.raises(UnsupportedError, match=r"write it as \(d floordiv 4 : dense"):
        tensor(np.zeros((2, 8)), "(i, j) -> (i : dense, j : structured[2, 4])")


def test_more_entries_than_32_bits_count_are_refused_without_a_copy() -> None:
    entries = 2**31 + 5
    coordinates = np.broadcast_to(np.int32(0), (2, entries))  # four bytes
    lots = np.broadcast_to(np.int8(1), (entries,))
    csr = encoding("CSR", pos_width=32, crd_width=32)
    with pytest.raises(WidthError, match=r"positions of at most 2147483647 for posWidth = 32, but got 2147483653"):
        tensor((coordinates, lots), csr, shape=(4, 4))


def test_memory_is_looked_up_again_before_anything_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ([[0, 3], [1, 2]], [1.0, 2.0])
    monkeypatch.setattr(pack_in_memory, "plenty", lambda: 8)
    assert tensor(entries, "CSR", shape=(4, 4)).nse == 2
    monkeypatch.setattr(pack_in_memory, "available_bytes", lambda: 9)
    with pytest.raises(TooLargeError, match="fits in the 9 B of memory available"):
        tensor(entries, "CSR", shape=(4, 4))


def test_the_source_of_an_error_is_not_left_in_the_way() -> None:
    # Native code raises from loops that run without the interpreter's lock.
    for _ in range(3):
        with pytest.raises(CoordinatesError):
            tensor(([[5], [0]], [1.0]), "CSR", shape=(2, 2))
    assert sys.exception() is None


@pytest.mark.parametrize("text", ["f64", "c64"])
def test_explicit_values_are_checked(text: str) -> None:
    typed = {"f64": "2.0 : f64", "c64": "#complex.number<:f32 2.0, 0.0> : complex<f32>"}[text]
    ones = encoding(f"#sparse_tensor.encoding<{{map = (i) -> (i : compressed), explicitVal = {typed}}}>")
    assert tensor(([0, 1], [2.0, 2.0]), ones, shape=(2,), dtype=text).nse == 2
    with pytest.raises(StorageError, match=r"expected all values to be explicitVal = .*, but got .*3.* at values\[1\]"):
        tensor(([0, 1], [2.0, 3.0]), ones, shape=(2,), dtype=text)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.complex128])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("shape", "count"), [((500, 500), 10_000), ((7, 90), 60), ((1, 40), 30), ((300, 2), 5), ((9, 9), 400)]
)
def test_few_entries_in_any_order(shape: tuple[int, int], count: int, kind: type, dtype: type) -> None:
    """Entries that caches hold are counted by coordinate, then by row; equal ones are added in the order they came."""
    rng = np.random.default_rng(count)
    columns = [rng.integers(0, extent, count).astype(kind) for extent in shape]
    values = rng.integers(1, 5, count).astype(dtype)
    dense = np.zeros(shape, dtype)
    np.add.at(dense, tuple(columns), values)
    for name in ("CSR", "CSC", "DCSR"):
        assert same(tensor((columns, values), name, shape=shape).to_numpy(), dense)


def test_few_equal_entries_are_added_in_the_order_they_came() -> None:
    rng = np.random.default_rng(8)
    columns, values = [rng.integers(0, 3, 200) for _ in range(2)], rng.random(200) * 10.0 ** rng.integers(-8, 9, 200)
    dense = np.zeros((3, 3))
    for row, column, value in zip(*columns, values, strict=True):
        dense[row, column] += value
    np.testing.assert_array_equal(tensor((columns, values), "CSR", shape=(3, 3)).to_numpy(), dense)


@pytest.mark.parametrize("extent", [3, 500, 40_000])
def test_few_entries_are_transposed(extent: int) -> None:
    matrix = scipy.sparse.random_array((300, extent), density=min(1, 9000 / 300 / extent), rng=np.random.default_rng(1))
    stored = tensor(matrix.tocsr()).convert("CSC")
    expected = matrix.tocsc()
    expected.sort_indices()
    np.testing.assert_array_equal(stored.storage.positions[1], expected.indptr)
    np.testing.assert_array_equal(stored.storage.coordinates[1], expected.indices)
    np.testing.assert_array_equal(stored.storage.values, expected.data)
