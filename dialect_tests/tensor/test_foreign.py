"""Storage that the dialect has no word for: hand-worked arrays, and every format against the dense array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.tensor.reference import WHOLE, dense_arrays, fits_structured, same, to_dense
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import (
    CoordinatesError,
    EncodingError,
    PositionsError,
    StorageError,
    TooLargeError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.level_view import level_view

Array = np.ndarray[Any, Any]

# The 4 x 6 matrix of Chou et al. 2018, figure 2.
DENSE = np.zeros((4, 6))
for _i, _j, _value in [(0, 0, 5), (0, 1, 1), (1, 0, 7), (1, 1, 3), (3, 1, 8), (3, 3, 4), (3, 4, 9)]:
    DENSE[_i, _j] = _value

NESTED = (
    "(i, j) -> (i floordiv 4 : dense, j floordiv 4 : compressed, (i mod 4) floordiv 2 : dense, "
    "(j mod 4) floordiv 2 : compressed, i mod 2 : dense, j mod 2 : dense)"
)
OPEN = [
    "SlotELL",
    "CountedELL",
    "DIA",
    "RowIntervals",
    "HashedRows",
    "(i, j) -> (j - i : dense, i : range)",
    "(i, j) -> (i : compressed, j - i : compressed)",
    "(i, j) -> (i : hashed, j : hashed)",
    "(i, j) -> (i : hashed, j : dense)",
    "(i, j) -> (i : compressed, j : hashed)",
    NESTED,
    "(i, j) -> (i + j : loose_compressed, i : compressed)",
    "(i, j) -> (i : dense, j - i : compressed, j : offset)",
    "(i, j) -> (i : loose_compressed, j - i : range[?, ?])",
    "(i, j) -> (j - i : compressed(nonunique), i : singleton)",
    "(i, j) -> (j - i : compressed(nonunique), i : singleton(soa))",
    "(i, j) -> (i : dense, j - i : loose_compressed, j : offset)",
    "(i, j) -> (j - 2 * i : compressed, i : range)",
]
# Formats that hold part of the matrices there are, and that part.
PARTS: dict[str, Callable[[Array], Array]] = {
    "Banded(2, 1)": lambda dense: np.tril(np.triu(dense, -2), 1),
    "PackedLower": np.tril,
    "PackedUpper": np.triu,
    "Skyline": np.tril,
    "UpperSkyline": np.triu,
    "(i, j) -> (i : dense, j : range[0, 2 * i + 3])": lambda dense: np.tril(dense, 2),
    "(i, j) -> (i : dense, j : singleton)": lambda dense: dense * (np.cumsum(dense != 0, axis=1) == 1),
}
FOREIGN = [*OPEN, *PARTS]
NAMES = [dtype.name for dtype in DTYPES]


def arrays(packed: SparseTensor) -> list[list[float]]:
    return [buffer.tolist() for buffer in packed.storage.buffers()]


def part(dense: Array, text: str) -> Array:
    return PARTS[text](dense).astype(dense.dtype) if text in PARTS else dense


def test_diagonals() -> None:
    packed = tensor(DENSE, "DIA")
    assert packed.storage.coordinates[0].tolist() == [-2, -1, 0, 1]  # type: ignore[union-attr]
    by_diagonal = [[0, 0, 0, 8], [0, 7, 0, 0], [5, 3, 0, 4], [1, 0, 0, 9]]
    assert arrays(packed) == [[0, 4], [-2, -1, 0, 1], np.ravel(by_diagonal).tolist()]
    view = level_view(packed)
    assert view.shape == (9, 4)
    assert same(to_dense(view)[1:5], np.array(by_diagonal, float))


def test_slots() -> None:
    packed = tensor(DENSE, "SlotELL")
    assert packed.encoding.map_text() == "[c](i, j) -> (i * (c * 3) : dense, i : dense, j : singleton)"
    slots = [[0, 0, -1, 1], [1, 1, -1, 3], [-1, -1, -1, 4]]
    assert arrays(packed) == [np.ravel(slots).tolist(), [5, 7, 0, 8, 1, 3, 0, 4, 0, 0, 0, 9]]
    assert packed.nse == 7
    counted = tensor(DENSE, "CountedELL")
    assert arrays(counted) == [[0, 1, 2, 2, 3, 4, 5, 5, 6, 6, 6, 6, 7], [0, 0, 1, 1, 1, 3, 4], [5, 7, 8, 1, 3, 4, 9]]


def test_intervals() -> None:
    assert arrays(tensor(DENSE, "RowIntervals")) == [[0, 2, 4, 4, 8], [0, 0, 0, 1], [5, 1, 7, 3, 8, 0, 4, 9]]
    lower = np.tril(DENSE)
    assert arrays(tensor(lower, "PackedLower")) == [[5, 7, 3, 0, 0, 0, 0, 8, 0, 4]]
    assert arrays(tensor(lower, "Skyline")) == [[0, 1, 3, 3, 6], [5, 7, 3, 8, 0, 4]]
    upper = np.triu(DENSE)
    assert arrays(tensor(upper[:3, :3], "PackedUpper")) == [[5, 1, 0, 3, 0, 0]]
    assert arrays(tensor(upper, "UpperSkyline")) == [[0, 1, 3, 3, 4, 5, 5], [5, 1, 3, 4, 9]]
    assert arrays(tensor(np.tril(DENSE, 1), "Banded(2, 1)")) == arrays(tensor(DENSE, "DIA"))[2:]


def test_hash_tables() -> None:
    packed = tensor(DENSE[3], "HashVector")
    assert arrays(packed) == [[-1, 1, -1, 3, 4, -1, -1, -1], [0, 8, 0, 4, 9, 0, 0, 0]]
    assert packed.nse == 3
    # 1 and 5 have the same place in a table of 4.
    collided = tensor(([[1, 5]], [2.0, 3.0]), "HashVector", shape=(8,))
    assert arrays(collided) == [[-1, 1, 5, -1], [0, 2, 3, 0]]
    assert arrays(tensor(np.zeros(3), "HashVector")) == [[-1], [0]]


def test_blocks_and_coordinate_lists_of_the_same_matrix() -> None:
    assert arrays(tensor(DENSE, "COO")) == [[0, 7], [0, 0, 0, 1, 1, 0, 1, 1, 3, 1, 3, 3, 3, 4], [5, 1, 7, 3, 8, 4, 9]]
    assert arrays(tensor(DENSE, "CSR"))[0] == [0, 2, 4, 4, 7]
    assert arrays(tensor(DENSE, "DCSR"))[:3] == [[0, 3], [0, 1, 3], [0, 2, 4, 7]]
    blocks = [[0, 1, 4], [0, 0, 1, 2], [5, 1, 7, 3, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 9, 0]]
    assert arrays(tensor(DENSE, "BSR(2, 2)")) == blocks
    inside = [0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0]
    assert arrays(tensor(DENSE, "CSB(2, 2)")) == [[0, 4, 4, 4, 5, 6, 7], inside, [5, 1, 7, 3, 8, 4, 9]]


def test_the_examples_of_the_dialects_documentation() -> None:
    rows = np.array([[1, 2, 0, 0, 4, 0], [0, 3, 0, 0, 0, 5], [0, 0, 6, 7, 0, 0], [0, 0, 8, 0, 0, 0]], float)
    assert arrays(tensor(rows, "BSR(2, 2)")) == [[0, 2, 3], [0, 2, 1], [1, 2, 0, 3, 4, 0, 0, 5, 6, 7, 8, 0]]
    kept = [[0, 2] * 4, [1, 3] * 4, [0, 1, 2, 3] * 2, [2, 3, 0, 1] * 2, [0, 1] * 4, [0, 1] * 4, [2, 3] * 4, [2, 3] * 4]
    dense = np.zeros((16, 16))
    for row in range(16):
        columns = 4 * np.repeat(np.arange(4), 2) + kept[row % 8]
        dense[row, columns] = [4 * (row % 8) + k + 1 for k in range(4)] * 2
    packed = tensor(dense, "NV_24")
    coordinates, values = arrays(packed)
    assert coordinates == np.ravel(kept).tolist() * 2
    assert values == [4 * (r % 8) + k + 1 for r in range(16) for k in [0, 1, 2, 3] * 2]
    assert same(packed.to_numpy(), dense)


@pytest.mark.parametrize("text", FOREIGN)
@examples(8)
@given(data=st.data())
def test_every_format_holds_what_it_was_given(text: str, data: st.DataObject) -> None:
    dense = part(data.draw(dense_arrays(2, NAMES)), text)
    packed = tensor(dense, text)
    assert same(packed.to_numpy(), dense)
    storage = packed.storage
    again = SparseTensor.from_levels(
        packed.encoding, dense.shape, storage.positions, storage.coordinates, storage.values
    )
    assert all(same(a, b) for a, b in zip(again.storage.buffers(), storage.buffers(), strict=True))
    coordinates, values = packed.to_coo()
    rebuilt = np.zeros_like(dense)
    rebuilt[tuple(coordinates)] = values
    assert same(rebuilt, dense)


@pytest.mark.parametrize("text", FOREIGN)
@examples(6)
@given(data=st.data())
def test_views_over_levels_hold_the_same(text: str, data: st.DataObject) -> None:
    dense = part(data.draw(dense_arrays(2)), text)
    packed = tensor(dense, text, pos_width=16, crd_width=8)
    view = level_view(packed)
    SparseTensor.from_levels(
        view.encoding, view.shape, view.storage.positions, view.storage.coordinates, view.storage.values
    )
    lvl_to_dim = packed.encoding.level_space().lvl_to_dim
    levels, found = to_dense(view), np.zeros_like(dense)
    for place in np.argwhere(levels):
        found[tuple(lvl_to_dim.evaluate([int(c) for c in place], dense.shape))] += levels[tuple(place)]
    assert same(found, dense)


@examples(40)
@given(dense_arrays(2, ["f64", "i8"]), st.sampled_from([None, 9]), st.sampled_from(["CSR", "CSC", "COO", "LooseCSR"]))
def test_shortcuts_store_what_packing_stores(dense: Array, width: int | None, source: str) -> None:
    by_column = "[c](i, j) -> (c * 9 * j : dense, j : dense, i : singleton)"
    for wanted in (encoding("SlotELL", width=width), encoding("DIA"), encoding(by_column)):
        direct = tensor(dense, source).convert(wanted)
        packed = tensor((np.stack(np.nonzero(dense)), dense[np.nonzero(dense)]), wanted, shape=dense.shape)
        assert direct.encoding == packed.encoding.with_widths(direct.encoding.pos_width, direct.encoding.crd_width)
        assert arrays(direct) == arrays(packed)
        direct.storage.encoding.level_space()
        SparseTensor.from_levels(
            direct.encoding, dense.shape, direct.storage.positions, direct.storage.coordinates, direct.storage.values
        )


@examples(30)
@given(dense_arrays(2, ["f64", "i8", "c64", "f16"]), st.sampled_from([(2, 4), (1, 3)]))
def test_pruning_keeps_the_largest_of_each_group(dense: Array, n_m: tuple[int, int]) -> None:
    n, m = n_m
    expected = np.zeros_like(dense)
    for i, row in enumerate(dense):
        for start in range(0, row.size, m):
            group = row[start : start + m]
            for j in sorted(range(group.size), key=lambda j: -abs(complex(group[j])))[:n]:
                expected[i, start + j] = group[j]
    assert same(tensor(dense, "NM", n=n, m=m, prune=True).to_numpy(), expected)
    assert same(tensor(dense, "DCSR").convert("NM", n=n, m=m, prune=True).to_numpy(), expected)


def test_zeros_are_dropped_on_request() -> None:
    pair = ([[0, 1, 1, 2], [0, 1, 1, 2]], [0.0, 2.0, -2.0, 3.0])
    kept = tensor(pair, "CSR", shape=(3, 3))
    assert kept.nse == 3
    assert kept.convert("CSR", drop_zeros=True).nse == kept.convert("COO", drop_zeros=True).nse == 1
    assert tensor(pair, "HashedRows", shape=(3, 3), drop_zeros=True).nse == 1
    assert tensor(pair, shape=(3, 3), drop_zeros=True).nse == 1
    with pytest.raises(EncodingError, match=r"structured\[n, m\] level to prune for, but got \(i, j\)"):
        kept.convert("CSR", prune=True)
    with pytest.raises(StorageError, match="prune=True"):
        tensor(np.ones((1, 4)), "NV_24")


def test_views_are_made_once_and_share_the_values() -> None:
    packed = tensor(DENSE, "SlotELL")
    view = level_view(packed)
    assert level_view(packed) is view
    packed.storage.values[0] = 6
    assert view.storage.values[0] == 6


def test_order_and_duplicates_do_not_matter() -> None:
    coordinates = np.array([[3, 0, 3, 1, 3], [4, 1, 1, 0, 4]])
    packed = tensor((coordinates, [4.0, 1.0, 8.0, 7.0, 5.0]), "DIA", shape=(4, 6))
    assert packed.to_numpy()[[3, 0, 3, 1], [4, 1, 1, 0]].tolist() == [9, 1, 8, 7]
    with pytest.raises(EncodingError, match="keep duplicates"):
        tensor((coordinates, np.ones(5)), "DIA", shape=(4, 6), sum_duplicates=False)


CHAIN = [name for name, enc in WHOLE[2] if enc.holds_all] + OPEN


@examples(8)
@given(dense_arrays(2, ["f64", "i32"]), st.permutations(CHAIN))
def test_a_chain_of_conversions_returns_the_same_tensor(dense: Array, chain: list[str]) -> None:
    found = tensor(dense, "CSR")
    for name in chain[:14]:
        found = found.convert(name)
        assert found.encoding.dim_to_lvl.num_dims == 2
    assert same(found.to_numpy(), dense), chain[:14]
    back = found.convert("CSR")
    assert all(same(a, b) for a, b in zip(back.storage.buffers(), tensor(dense, "CSR").storage.buffers(), strict=True))


@pytest.mark.parametrize("text", ["DIA", "Banded(1, 1)", "(i, j) -> (j - i : dense, i : range)", "PackedLower"])
def test_too_much_memory_is_refused_before_it_is_taken(text: str) -> None:
    columns = np.arange(200_000)
    rows = np.zeros_like(columns) if text == "DIA" else columns
    with pytest.raises(TooLargeError, match=r"memory available, but got [\d.e+]+ [GTPE]iB"):
        tensor((np.stack([rows, columns]), np.ones(columns.size)), text, shape=(5 * 10**9, 5 * 10**9))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SlotELL(2)", StorageError, "at most 2 entries with the same i .* but got 3 with i = 3: give a width of 3"),
        ("CountedELL(2)", StorageError, "at most 2 entries with the same i .* but got 3 with i = 3"),
        ("Banded(1, 1)", StorageError, r"coordinates from -1 to 1 at level 0 .* but got -2"),
        ("PackedLower", StorageError, r"coordinates from 0 to 0 at level 1 .* but got 1"),
        ("(i, j) -> (i : dense, j : singleton)", StorageError, "one coordinate below each parent .* but got"),
        (
            "(i, j) -> (i : range[?, ?], j : singleton)",
            UnsupportedError,
            "singleton levels below levels without bounds",
        ),
        ("(i, j) -> (i : dense, j - i : hashed)", UnsupportedError, "-1 stands for none"),
        ("[c](i, j) -> (c + i : dense, i : dense, j : compressed)", UnsupportedError, "stand for slots"),
    ],
)
def test_what_a_format_has_no_room_for(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises((error, EncodingError), match=message):
        tensor(DENSE, text)


def test_widths_with_numbers_below_zero() -> None:
    wide = np.zeros((3, 300))
    wide[0, 200] = 1
    with pytest.raises(WidthError, match="crdWidth = 8"):
        tensor(wide, "DIA", crd_width=8)
    narrow = tensor(DENSE, "DIA", crd_width=8, pos_width=8)
    assert narrow.storage.coordinates[0].dtype == np.int8  # type: ignore[union-attr]
    assert level_view(narrow).storage.coordinates[0].tolist() == [1, 2, 3, 4]  # type: ignore[union-attr]


_ELL = "[c](i, j) -> (c * 2 * i : dense, i : dense, j : singleton)"


@pytest.mark.parametrize(
    ("text", "shape", "positions", "coordinates", "values", "error", "message"),
    [
        ("DIA", (2, 2), [[0, 1], None], [[2], None], [1, 1], CoordinatesError, "from -1 to 1, the coordinates"),
        ("DIA", (2, 2), [[0, 2], None], [[1, 0], None], [1, 0, 1, 1], CoordinatesError, "to ascend"),
        ("DIA", (2, 2), [[0, 1], None], [[1], None], [1, 1], StorageError, r"zeros beyond shape .* at \(1, 2\)"),
        ("DIA", (2, 2), [[0, 1], None], [[1], None], [1, 0, 0], StorageError, "expected 2 values"),
        ("DIA", (2, 2), [[0], None], [[1], None], [1, 0], PositionsError, "length 2"),
        ("HashVector", (8,), [None], [[0, 1, 2]], [1, 1, 1], CoordinatesError, "a power of two"),
        ("HashVector", (8,), [None], [[-1, -1, 1, -1]], [0, 0, 1, 0], CoordinatesError, "behind an empty slot"),
        ("HashVector", (8,), [None], [[-1, 1, 1, -1]], [0, 1, 1, 0], CoordinatesError, "to differ"),
        ("HashVector", (8,), [None], [[-1, 1]], [3, 1], StorageError, "expected 0 where there is no entry"),
        ("HashVector", (8,), [None], [[-2, 1]], [0, 1], CoordinatesError, "from 0 to 7, or -1 for none"),
        ("Skyline", (2, 2), [None, [0, 1, 4]], [None, None], [1, 1, 1, 1], PositionsError, "interval 1"),
        ("RowIntervals", (1, 3), [None, [0, 2]], [None, [2]], [1, 1], PositionsError, "2 coordinates from 2 on"),
        ("RowIntervals", (1, 3), [None, [0, 2]], [None, [0, 0]], [1, 1], CoordinatesError, "one for each parent"),
        ("(i, j) -> (j - i : compressed(nonunique), i : singleton)", (2, 2), [[0, 2], None], [[0, 0], [0]], [1, 1],
         StorageError, "in the same array of structs"),
        (_ELL, (1, 3), [None] * 3, [None, None, [-1, 1]], [0, 1], StorageError, "in slot 0 of level 0"),
        (_ELL, (1, 3), [None] * 3, [None, None, [2, 1]], [1, 1], StorageError, None),
        (_ELL, (1, 3), [None] * 3, [None, None, [2]], [1], CoordinatesError, "to have length 2"),
        ("SlotELL", (1, 3), [None] * 3, [None, None, [2]], [1], StorageError, "the number of slots"),
    ],
)  # fmt: skip
def test_buffers_are_checked(
    text: str, shape: tuple[int, ...], positions: Any, coordinates: Any, values: Any, error: Any, message: str | None
) -> None:
    with pytest.raises(error, match=message):
        SparseTensor.from_levels(encoding(text), shape, positions, coordinates, np.array(values, float))


@examples(30)
@given(dense_arrays(2, ["f64", "i32", "c64"]))
def test_scipys_diagonals_come_and_go(dense: Array) -> None:
    source = scipy.sparse.dia_array(dense)
    packed = tensor(source, "DIA")
    assert same(packed.to_numpy(), dense)
    assert arrays(packed)[1] == sorted(source.offsets.tolist())
    back = packed.to_scipy()
    assert back.format == "dia"
    assert same(back.toarray(), dense)
    SparseTensor.from_levels(
        packed.encoding, dense.shape, packed.storage.positions, packed.storage.coordinates, packed.storage.values
    )


def test_scipys_diagonals_with_room_and_out_of_order() -> None:
    data = np.arange(1.0, 13).reshape(3, 4)
    for shape in [(4, 6), (6, 4), (3, 2), (2, 9)]:
        source = scipy.sparse.dia_array((data, [1, -7, -1]), shape=shape)
        assert same(tensor(source, "DIA").to_numpy(), source.toarray())
    twice = scipy.sparse.dia_array((data[:2], [0, 1]), shape=(4, 4))
    twice.offsets = np.array([1, 1])
    assert same(tensor(twice, "DIA").to_numpy(), twice.tocoo().toarray())


def test_empty_slots_have_no_explicit_value() -> None:
    ones = encoding("#sparse_tensor.encoding<{ map = (i) -> (i : hashed), explicitVal = 1.0 : f64 }>")
    packed = tensor([1.0, 0.0, 1.0], ones)
    again = SparseTensor.from_levels(ones, (3,), [None], packed.storage.coordinates, packed.storage.values)
    assert again.to_numpy().tolist() == [1, 0, 1]
    with pytest.raises(StorageError, match="explicitVal"):
        tensor([1.0, 2.0], ones)


def test_structured_parts_convert_too() -> None:
    dense = fits_structured(np.arange(32.0).reshape(4, 8), encoding("NV_24"))
    for name in ("DIA", "SlotELL", "HashedRows"):
        assert same(tensor(dense, "NV_24").convert(name).convert("NV_24").to_numpy(), dense)


@pytest.mark.parametrize("text", ["SlotELL(1)", "CountedELL(1)"])
def test_one_slot_holds_one_entry_a_row(text: str) -> None:
    dense = np.zeros((3, 4))
    dense[0, 3], dense[2, 1] = 5, 7
    made = tensor(dense, text)
    assert made.storage.level_sizes == (1, 3, 4)
    assert made.storage.values.tolist() == ([5, 0, 7] if text == "SlotELL(1)" else [5, 7])
    assert np.array_equal(made.to_numpy(), dense)
    again = SparseTensor.from_levels(
        str(made.encoding), made.shape, made.storage.positions, made.storage.coordinates, made.storage.values
    )
    assert np.array_equal(again.to_numpy(), dense)
    for source in (dense, tensor(dense, "CSR"), tensor(np.zeros((3, 4)))):
        assert tensor(source, text[:-3]).encoding == made.encoding  # the longest row has one entry, or none
    with pytest.raises(StorageError, match=r"expected at most 1 entries with the same i .* but got 2 with i = 1"):
        tensor([[0.0, 1.0], [2.0, 3.0]], text)
