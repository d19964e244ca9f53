"""Conversions that have a native path of their own give what packing the same entries gives, and what SciPy gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

from dialect_tests.crossing import crossed
from mlir_sparse import SparseTensor, tensor
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import SparseError, TooLargeError

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (6, 8), (7, 11), (40, 3)]
BLOCKS = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 4), (3, 5), (2, 100), (100, 2)]
LARGE = 150_000  # entries; from 1e5 on threads share the work


def draw_matrices() -> Iterator[sp.csr_array]:
    rng = np.random.default_rng(7)
    for shape in SHAPES:
        for density in (0.0, 0.3, 1.0):
            made = sp.csr_array(sp.random_array(shape, density=density, rng=rng))
            made.sort_indices()
            yield made
    zeros = sp.csr_array(([0.0, -0.0, 3.0], [1, 2, 0], [0, 2, 2, 3]), shape=(3, 4))
    yield zeros


MATRICES = [pytest.param(m, id=f"{m.shape[0]}x{m.shape[1]}-{m.nnz}-{i}") for i, m in enumerate(draw_matrices())]


def large(rows: int = 2_000, columns: int = 3_000) -> sp.csr_array:
    """Draws a matrix with empty rows, and some rows that hold most entries."""
    rng = np.random.default_rng(3)
    row = np.concatenate([rng.integers(0, rows // 2, LARGE), np.repeat(rows // 2 + 7, columns)])
    column = np.concatenate([rng.integers(0, columns, LARGE), np.arange(columns)])
    made = sp.csr_array((rng.random(row.size), (row, column)), shape=(rows, columns))
    made.sum_duplicates()
    return made


def through_coordinates(source: sp.sparray, wanted: str) -> SparseTensor:
    coo = source.tocoo()
    return tensor((coo.coords, coo.data), wanted, shape=source.shape)


def assert_same(got: SparseTensor, expected: SparseTensor) -> None:
    assert got.encoding.level_types == expected.encoding.level_types
    for a, b in zip(got.storage.buffers(), expected.storage.buffers(), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("wanted", ["CSC", "COO", "SoA-COO", "BSR(4, 4)", "BSR(3, 7)", "BSR(64, 2)"])
def test_large_matrices_do_not_depend_on_the_number_of_threads(
    wanted: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", "1")
    expected = through_coordinates(large(), wanted)
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", threads)
    assert_same(tensor(large()).convert(wanted), expected)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize(
    "through", ["COO", "SoA-COO", "CSC", "BSR(4, 4)", "BSR(3, 7)", "DIA", "Banded(2000, 3000)", "SlotELL", "HashedRows"]
)
def test_large_matrices_come_back_as_rows(through: str, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", threads)
    source = large(400, 3_000)
    stored = tensor(source).convert(through)
    back = stored.convert("CSR")
    assert np.array_equal(back.storage.positions[1], source.indptr)
    assert np.array_equal(back.storage.coordinates[1], source.indices)
    assert np.array_equal(back.storage.values, source.data)
    columns = stored.convert("CSC").to_scipy()
    assert np.array_equal(columns.indptr, source.tocsc().indptr)
    assert np.array_equal(columns.indices, source.tocsc().indices)


def test_diagonals_and_slots_are_those_of_scipy_and_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", "3")
    rng = np.random.default_rng(2)
    offsets = [-900, -3, 0, 1, 70]
    source = sp.csr_array(sp.dia_array((rng.random((5, 40_000)), offsets), shape=(39_000, 40_000)))
    made = tensor(source).convert("DIA").to_scipy()
    assert list(made.offsets) == offsets
    assert abs(sp.csr_array(made) - source).max() == 0
    slots = tensor(source).convert("SlotELL").storage
    filled = np.arange(5)[:, None] < np.diff(source.indptr)
    assert np.array_equal(slots.coordinates[2].reshape(5, -1) >= 0, filled)
    assert np.array_equal(slots.coordinates[2].reshape(5, -1).T[filled.T], source.indices)
    assert np.array_equal(slots.values.reshape(5, -1).T[filled.T], source.data)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_zeros_are_padding_but_minus_zero_and_nan_are_none(dtype: str) -> None:
    values = np.array([-0.0, 0.0, np.nan, np.inf, 5e-324 if dtype in ("f8", "c16") else 1, 2]).astype(dtype)
    if dtype[0] == "c":
        values[3] = complex(0.0, -0.0)
    given = np.delete(values, 1).tobytes()
    blocks = SparseTensor.from_levels("BSR(2, 3)", (2, 3), [None, [0, 1], None, None], [None, [0], None, None], values)
    assert blocks.convert("CSR").storage.values.tobytes() == given
    diagonal = SparseTensor.from_levels("DIA", (6, 6), [[0, 1], None], [[0], None], values)
    assert diagonal.convert("CSR").storage.values.tobytes() == given


def test_hash_tables_find_every_coordinate() -> None:
    crd = np.array([0, 8, 16, 1, 15, 31, 7])
    made = tensor(((np.zeros(7, int), crd), np.arange(1.0, 8)), "HashedRows", shape=(1, 40)).storage
    table = made.coordinates[1]
    assert table.size == 16  # a power of two, at least half of it free
    for c in crd:
        at = c % 16
        while table[at] != c:
            assert table[at] >= 0, "an empty slot ends the search"
            at = (at + 1) % 16


@pytest.mark.parametrize("block", [(2**31, 2), (2, 2**31), (2**40, 2**40)])
@pytest.mark.parametrize("name", ["BSR", "BSC", "DBSR", "ModeGeneric"])
def test_huge_blocks_are_refused_with_the_figures(name: str, block: tuple[int, int]) -> None:
    wanted = encoding(name, block=block)
    for make in (
        lambda: tensor((([0, 1], [0, 1]), [1.0, 2.0]), wanted, shape=(3, 3)),
        lambda: tensor(np.eye(3)).convert(wanted),
        lambda: tensor(np.eye(3), "COO").convert(wanted),
    ):
        with pytest.raises(TooLargeError, match=r"of memory available, but got .* [TEG]iB"):
            make()
    assert tensor(np.zeros((3, 4))).convert(wanted).convert("CSR").nse == 0


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("wanted", ["CSR", "CSC"])
def test_packing_with_threads_sums_duplicates_in_the_order_given(
    wanted: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    rows, columns = rng.integers(0, 300, LARGE), rng.integers(0, 300, LARGE)
    values = rng.random(LARGE)
    expected = np.zeros((300, 300))
    np.add.at(expected, (rows, columns), values)  # in order: rounding is the same
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", threads)
    for order in (np.arange(LARGE), np.lexsort((columns, rows))):  # lexsort is stable
        made = tensor(((rows[order], columns[order]), values[order]), wanted, shape=(300, 300))
        assert np.array_equal(made.to_numpy(), expected)
        assert made.nse == np.count_nonzero(expected)


def test_threads_do_not_split_a_row_of_sorted_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", "3")
    columns = np.arange(LARGE)
    for rows in (np.zeros(LARGE, int), np.full(LARGE, 4), (columns > 10).astype(int), (columns > LARGE - 9) * 4):
        made = tensor(((rows, columns), np.ones(LARGE)), "CSR", shape=(5, LARGE))
        assert list(made.storage.positions[1]) == [0, *np.cumsum(np.bincount(rows, minlength=5))]


@pytest.mark.parametrize("source", MATRICES)
@pytest.mark.parametrize("given", ["CSR", "CSC"])
def test_matrices_by_rows_become_coordinates(source: sp.csr_array, given: str) -> None:
    by_columns = "(i, j) -> (j : compressed(nonunique), i : singleton)"
    for wanted in ("COO", "SoA-COO", by_columns, by_columns.replace("singleton", "singleton(soa)")):
        assert_same(tensor(source, given).convert(wanted), through_coordinates(source, wanted))


@pytest.mark.parametrize("source", MATRICES)
def test_rows_become_blocks(source: sp.csr_array) -> None:
    for height, width in BLOCKS:
        wanted = f"BSR({height}, {width})"
        made = tensor(source).convert(wanted)
        assert_same(made, through_coordinates(source, wanted))
        assert np.array_equal(made.to_numpy(), source.toarray())


def test_blocks_larger_than_memory_are_refused_unless_there_are_none() -> None:
    for block in ((2**33, 2**33), (2, 2**62)):
        wanted = encoding("BSR", block=block)
        assert tensor(np.zeros((3, 4))).convert(wanted).nse == 0
        with pytest.raises(TooLargeError, match="memory available, but got"):
            tensor(np.eye(3)).convert(wanted)


def test_blocks_are_those_of_scipy() -> None:
    source = sp.csr_array(sp.random_array((12, 20), density=0.2, rng=np.random.default_rng(0)))
    expected = source.tobsr((4, 5))
    expected.sort_indices()
    made = tensor(source).convert("BSR(4, 5)").to_scipy()
    assert np.array_equal(made.indptr, expected.indptr)
    assert np.array_equal(made.indices, expected.indices)
    assert np.array_equal(made.data, expected.data)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "complex64", "complex128"])
@pytest.mark.parametrize("widths", [(32, 32), (32, 64), (64, 32), (64, 64), (16, 8)])
def test_every_width_and_size_of_value(dtype: str, widths: tuple[int, int]) -> None:
    dense = np.arange(42).reshape(6, 7) % 5
    source = tensor(dense.astype(dtype), encoding("CSR").with_widths(*widths))
    for wanted in ("CSC", "COO", "SoA-COO", "BSR(2, 3)"):
        made = source.convert(wanted)
        assert made.dtype == np.dtype(dtype)
        assert np.array_equal(made.to_numpy(), dense.astype(dtype))
        assert (made.encoding.pos_width, made.encoding.crd_width) == tuple(max(w, 32) for w in widths)


def test_repeated_and_unordered_entries_take_the_long_way() -> None:
    rows = "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))"
    crd = np.array([3, 1, 3, 0, 0], np.int32)
    source = SparseTensor.from_levels(rows, (2, 4), [None, [0, 3, 5]], [None, crd], np.arange(1.0, 6.0))
    dense = np.array([[0, 2, 0, 4], [9, 0, 0, 0]], float)
    for wanted in ("COO", "SoA-COO", "BSR(2, 2)", "CSR", "CSC"):
        assert np.array_equal(source.convert(wanted).to_numpy(), dense)


def test_converted_values_are_not_those_of_the_source() -> None:
    source = tensor(np.eye(3))
    for wanted in ("COO", "SoA-COO", "BSR(2, 2)"):
        source.convert(wanted).storage.values[:] = 5
    assert np.array_equal(source.to_numpy(), np.eye(3))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_validation_finds_the_one_fault_among_many_entries(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", threads)
    source = large()
    tensor(source)
    pos, crd = source.indptr, source.indices
    row = int(np.argmax(np.diff(pos) > 2))
    for at, to, text in (
        (int(pos[row]) + 1, crd[pos[row]], "duplicate|different|twice|unique|second"),
        (crd.size - 1, 3_000, "from 0 to 2999"),
        (0, -1, "from 0 to 2999"),
        (crd.size // 2, np.iinfo(np.int32).min, "from 0 to 2999"),
    ):
        broken = crd.copy()
        broken[at] = to
        with pytest.raises(SparseError, match=text):
            SparseTensor.from_levels("CSR", source.shape, [None, pos], [None, broken], source.data)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("widths", [(8, 8), (8, 32), (16, 32), (16, 64), (64, 16), (32, 32)])
def test_lists_of_every_width_become_rows(widths: tuple[int, int], by_columns: bool) -> None:
    """Narrow positions were read as wide ones once, past their end."""
    first, second = ("j", "i") if by_columns else ("i", "j")
    listed = encoding(f"(i, j) -> ({first} : compressed(nonunique), {second} : singleton(soa))").with_widths(*widths)
    for name in ("CSR", "CSC"):
        for dense in (np.eye(5, 50), np.zeros((3, 4)), np.arange(12.0).reshape(4, 3)):
            stored = tensor(dense, listed)
            for wanted in (encoding(name), encoding(name).with_widths(*widths)):
                np.testing.assert_array_equal(stored.convert(wanted).to_numpy(), dense)


@crossed(rank=[2, 3], width=[16, 32, 64], threads=["1", "3"])
def test_lists_are_taken_apart_on_several_threads(
    rank: int, width: int, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each entry's coordinates stand together in COO; trees have one array for each level."""
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", threads)
    rng = np.random.default_rng(rank)
    shape = (90, 700, 800)[3 - rank :]
    wanted = np.array(np.unravel_index(np.unique(rng.integers(0, np.prod(shape), LARGE)), shape))
    values = rng.random(wanted.shape[1])
    listed = tensor((wanted, values), encoding("COO", rank=rank, crd_width=width), shape=shape)
    coordinates, found = listed.to_coo()
    np.testing.assert_array_equal(coordinates, wanted)
    np.testing.assert_array_equal(found, values)
    tree = listed.convert(encoding("CSF" if rank == 3 else "DCSR", rank=rank)).storage
    starts = np.flatnonzero(np.r_[True, (np.diff(wanted[:-1]) != 0).any(0)])
    np.testing.assert_array_equal(tree.coordinates[-1], wanted[-1])
    np.testing.assert_array_equal(tree.coordinates[-2], wanted[-2, starts])
    np.testing.assert_array_equal(tree.positions[-1], np.r_[starts, values.size])
    np.testing.assert_array_equal(tree.values, values)


@pytest.mark.parametrize("levels", [
    "{0} : dense, {1} : compressed", "{1} : dense, {0} : compressed", "{0} : dense, {1} : hashed",
    "{0} : compressed(nonunique), {1} : singleton",
])  # fmt: skip
def test_equal_encodings_with_other_names_keep_their_own(levels: str) -> None:
    """What is known of an encoding is kept for those equal to it, and these may name their dimensions otherwise."""
    source = tensor([[0.0, 2.0, 0.0], [3.0, 0.0, -0.0]], "BSR", block=(1, 3))
    for names in (("i", "j"), ("row", "column"), ("i", "j")):
        wanted = encoding(f"({', '.join(names)}) -> ({levels.format(*names)})")
        made = source.convert(wanted)
        assert made.encoding.dim_names == names
        assert made.to_numpy().tolist() == [[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
        back = made.convert(encoding(f"({', '.join(names)}) -> ({names[0]} : dense, {names[1]} : compressed)"))
        assert back.encoding.dim_names == names
        assert back.to_numpy().tolist() == made.to_numpy().tolist()
