"""Pictures of storage, against pictures drawn by hand, and for every preset."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from dialect_tests.tensor.reference import WHOLE, entries, fits_structured
from mlir_sparse.encoding import PRESETS, Encoding, encoding
from mlir_sparse.errors import OperandError
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor
from mlir_sparse.tensor.draw.entry_raster import entry_raster, panel_name

ROWS = np.zeros((4, 6))
ROWS[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]
BLOCKS = np.array([[1, 2, 0, 0, 4, 0], [0, 3, 0, 0, 0, 5], [0, 0, 6, 7, 0, 0], [0, 0, 8, 0, 0, 0]], float)

CSR = """\
(i, j) -> (i : dense, j : compressed), levels of 4 x 6
level 0, i : dense       (coordinates)  0     1     2  3
                                        ├──┐  ├──┐     ├──┬──┐
level 1, j : compressed  positions      0     2     4  4        7
                         coordinates    0  1  0  1     1  3  4
                                        │  │  │  │     │  │  │
values                                  5  1  7  3     8  4  9"""

DCSR = """\
(i, j) -> (i : compressed, j : compressed), levels of 4 x 6
level 0, i : compressed  positions    0                    3
                         coordinates  0     1     3
                                      ├──┐  ├──┐  ├──┬──┐
level 1, j : compressed  positions    0     2     4        7
                         coordinates  0  1  0  1  1  3  4
                                      │  │  │  │  │  │  │
values                                5  1  7  3  8  4  9"""

COO = """\
(i, j) -> (i : compressed(nonunique), j : singleton), levels of 4 x 6
level 0, i : compressed(nonunique)  positions                   0                    7
                                    column 0 of coordinates[0]  0  0  1  1  3  3  3
                                                                │  │  │  │  │  │  │
level 1, j : singleton              column 1 of coordinates[0]  0  1  0  1  1  3  4
                                                                │  │  │  │  │  │  │
values                                                          5  1  7  3  8  4  9"""

BSR = """\
(i, j) -> (i floordiv 2 : dense, j floordiv 2 : compressed, i mod 2 : dense, j mod 2 : dense), levels of 2 x 3 x 2 x 2
level 0, i floordiv 2 : dense       (coordinates)  0                       1
                                                   ├───────────┐           │
level 1, j floordiv 2 : compressed  positions      0                       2           3
                                    coordinates    0           2           1
                                                   ├─────┐     ├─────┐     ├─────┐
level 2, i mod 2 : dense            (coordinates)  0     1     0     1     0     1
                                                   ├──┐  ├──┐  ├──┐  ├──┐  ├──┐  ├──┐
level 3, j mod 2 : dense            (coordinates)  0  1  0  1  0  1  0  1  0  1  0  1
                                                   │  │  │  │  │  │  │  │  │  │  │  │
values                                             1  2  0  3  4  0  0  5  6  7  8  0"""

LOOSE = """\
(i, j) -> (i : dense, j : loose_compressed), levels of 2 x 4
level 0, i : dense             (coordinates)  0       1
                                              ├────┐  ├────┐
level 1, j : loose_compressed  positions      0:1     2:4
                               coordinates    3    _  0    2
                                              │    │  │    │
values                                        5    _  6    7"""

CUT = """\
(i, j) -> (i : dense, j : compressed), levels of 1000 x 1000
level 0, i : dense       (coordinates)  0  1  2  ...
                                        │  │  │
level 1, j : compressed  positions      0  1  2  ...  1000
                         coordinates    0  1  2  ...
                                        │  │  │
values                                  1  1  1  ..."""

EMPTY = """\
(i) -> (i : compressed), levels of 3
level 0, i : compressed  positions    0  0
                         coordinates
values"""


@pytest.mark.parametrize(
    ("dense", "name", "picture"),
    [
        (ROWS, "CSR", CSR),
        (ROWS, "DCSR", DCSR),
        (ROWS, "COO", COO),
        (BLOCKS, "BSR(2, 2)", BSR),
        (np.eye(1000), "CSR", CUT),
        (np.zeros(3), "SparseVector", EMPTY),
    ],
)
def test_pictures_drawn_by_hand(dense: np.ndarray, name: str, picture: str) -> None:
    storage = tensor(dense, name).storage
    assert str(storage.draw(columns=3 if picture is CUT else 24)) == picture


DIA = """\
(i, j) -> (j - i : compressed, i : range), levels of 4 x 2
level 0, j - i : compressed  positions      0            2
                             coordinates    -1     2
                                            ├───┐  ├──┐
level 1, i : range           (coordinates)  0   1  0  1
                                            │   │  │  │
values                                      0   5  6  0"""

SKYLINE = """\
(i, j) -> (i : dense, j : range[?, i + 1]), levels of 3 x 3
level 0, i : dense            (coordinates)  0  1     2
                                             │  ├──┐  │
level 1, j : range[?, i + 1]  positions      0  1     3  4
                              (coordinates)  0  0  1  2
                                             │  │  │  │
values                                       1  2  3  4"""

PACKED = """\
(i, j) -> (i : dense, j : range[i]), levels of 2 x 3
level 0, i : dense     (coordinates)  0        1
                                      ├──┬──┐  ├──┐
level 1, j : range[i]  (coordinates)  0  1  2  1  2
                                      │  │  │  │  │
values                                1  2  3  4  5"""

INTERVALS = """\
(i, j) -> (i : dense, j : range[?, ?]), levels of 2 x 4
level 0, i : dense        (coordinates)                0     1
                                                       ├──┐  │
level 1, j : range[?, ?]  positions                    0     2  3
                          (coordinates), first stored  2  3  1
                                                       │  │  │
values                                                 1  2  3"""

HASHED = """\
(i, j) -> (i : dense, j : hashed), levels of 2 x 9
level 0, i : dense   (coordinates)  0      1
                                    ├───┐  ├──┐
level 1, j : hashed  coordinates    -1  7  4  1
                                    │   │  │  │
values                              0   1  2  3"""

BAND = """\
(i, j) -> (j - i : dense[-1, 1], i : range), levels of 2 x 2
level 0, j - i : dense[-1, 1]  (coordinates)  -1     0
                                              ├───┐  ├──┐
level 1, i : range             (coordinates)  0   1  0  1
                                              │   │  │  │
values                                        0   1  2  3"""


def _array(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


@pytest.mark.parametrize(
    ("picture", "positions", "coordinates", "values"),
    [
        (DIA, [_array(0, 2), None], [_array(-1, 2), None], [0, 5, 6, 0]),
        (SKYLINE, [None, _array(0, 1, 3, 4)], [None, None], [1, 2, 3, 4]),
        (PACKED, [None, None], [None, None], [1, 2, 3, 4, 5]),
        (INTERVALS, [None, _array(0, 2, 3)], [None, _array(2, 1)], [1, 2, 3]),
        (HASHED, [None, None], [None, _array(-1, 7, 4, 1)], [0, 1, 2, 3]),
        (BAND, [None, None], [None, None], [0, 1, 2, 3]),
    ],
)
def test_levels_that_the_dialect_has_no_word_for(
    picture: str, positions: list[Any], coordinates: list[Any], values: list[int]
) -> None:
    text, sizes = picture.splitlines()[0].split(", levels of ")
    level_sizes = tuple(int(size) for size in sizes.split(" x "))
    kind = encoding(text).with_widths(32, 32)
    storage = LevelStorage(kind, level_sizes, tuple(positions), tuple(coordinates), np.array(values, float))
    assert str(storage.draw()) == picture


def test_room_between_parents_is_drawn() -> None:
    loose = "(i, j) -> (i : dense, j : loose_compressed)"
    made = SparseTensor.from_levels(loose, (2, 4), [None, [0, 1, 2, 4]], [None, [3, 0, 0, 2]], [5.0, 0.0, 6.0, 7.0])
    assert str(made.storage.draw()) == LOOSE


def test_values_of_every_kind_are_short() -> None:
    for dtype, text in (("i8", "-3"), ("f16", "-3"), ("bf16", "-3"), ("f64", "-3"), ("c64", "-3+0j")):
        assert tensor([-3.0, 0.0], dtype=dtype).storage.draw().text.splitlines()[-1].split() == ["values", text]


BATCHES = """\
(i, j, k) -> (i : batch, j : dense, k : compressed), levels of 2 x 2 x 3

batch i = 0
level 1, j : dense       (coordinates)  0     1
                                        ├──┐  ├──┬──┐
level 2, k : compressed  positions      0     2        5
                         coordinates    0  1  0  1  2
                                        │  │  │  │  │
values                                  5  1  7  3  8

batch i = 1
level 1, j : dense       (coordinates)  0  1
                                           ├──┐
level 2, k : compressed  positions      0  0     2
                         coordinates       1  2  _  _  _
                                           │  │
values                                     4  9  _  _  _"""

COO_BATCHES = """\
(i, j, k) -> (i : batch, j : compressed(nonunique), k : singleton), levels of 2 x 2 x 3

batch i = 0
level 1, j : compressed(nonunique)  positions                   0              5
                                    column 0 of coordinates[1]  0  0  1  1  1
                                                                │  │  │  │  │
level 2, k : singleton              column 1 of coordinates[1]  0  1  0  1  2
                                                                │  │  │  │  │
values                                                          5  1  7  3  8

batch i = 1
level 1, j : compressed(nonunique)  positions                   0     2
                                    column 0 of coordinates[1]  1  1  _  _  _
                                                                │  │
level 2, k : singleton              column 1 of coordinates[1]  1  2  _  _  _
                                                                │  │
values                                                          4  9  _  _  _"""

PAIR = np.array([[[5, 1, 0], [7, 3, 8]], [[0, 0, 0], [0, 4, 9]]], float)


@pytest.mark.parametrize("picture", [BATCHES, COO_BATCHES])
def test_batches_have_a_tree_each(picture: str) -> None:
    kind = picture.splitlines()[0].split(", levels of ")[0]
    assert str(tensor(PAIR, kind).storage.draw()) == picture


def test_batches_need_not_repeat_their_last_position() -> None:
    """What lies behind a batch is never read: a caller may leave anything there."""
    positions = [None, np.array([[0, 2, 77], [0, 1, 77]]), np.array([[0, 1, 3], [0, 1, 99]])]
    coordinates = [None, np.array([[0, 1], [1, 55]]), np.array([[2, 0, 1], [0, 66, 66]])]
    values = np.array([[1.0, 2.0, 3.0], [4.0, 44.0, 44.0]])
    kind = "(i, j, k) -> (i : batch, j : compressed, k : compressed)"
    text = SparseTensor.from_levels(kind, (2, 2, 3), positions, coordinates, values).storage.draw().text
    assert not any(number in text for number in ("44", "55", "66", "77", "99"))
    assert [line.split()[-3:] for line in text.splitlines() if line.startswith("values")] == [
        ["1", "2", "3"],
        ["4", "_", "_"],
    ]


def test_no_more_batches_are_drawn_than_there_is_room_for() -> None:
    many = tensor(np.tile(PAIR, (10, 1, 1)), "BatchedCSR").storage
    text = many.draw(columns=2).text
    assert text.count("batch i = ") == 8
    assert text.endswith("\n... 12 more batches")
    assert text.splitlines()[8].split() == ["values", "5", "1", "..."]
    assert "... 12 more batches" in many.draw().svg()
    room = tensor(PAIR, "BatchedCSR").storage.draw(columns=4).text.splitlines()
    assert room[-1].split() == ["values", "4", "9", "_", "..."]
    assert tensor(np.zeros((0, 2, 3)), "BatchedCSR").storage.draw().text.endswith("levels of 0 x 2 x 3")
    pairs = tensor(PAIR, "(i, j, k) -> (i : batch, j : batch, k : compressed)").storage.draw().text
    assert "batch i = 1, j = 0\nlevel 2, k : compressed  positions    0  0\n" in pairs


def _example(rank: int, kind: Encoding) -> np.ndarray:
    """Returns entries that an encoding has room for: in its band or triangle, no more than n of m."""
    dense = {1: ROWS[3], 2: ROWS, 3: np.stack([ROWS[:2, :3], ROWS[2:, 2:5]])}[rank]
    if kind.preset in ("PackedLower", "Skyline"):
        return np.tril(dense)
    if kind.preset in ("PackedUpper", "UpperSkyline"):
        return np.triu(dense)
    if kind.preset == "Banded":
        return np.triu(np.tril(dense, 1), -1)
    return fits_structured(dense, kind)


def _drawn_in_text(text: str) -> dict[str, list[str]]:
    """Returns the numbers of each kind of row, level by level."""
    drawn: dict[str, list[str]] = {"positions": [], "coordinates": [], "counted": [], "values": []}
    for line in text.splitlines()[1:]:
        for label in ("coordinates", "positions"):
            if match := re.search(rf"( |^|\()(column \d of )?{label}(\[\d\])?(\)?(, first stored)?)( |$)", line):
                counted = match[4] == ")"
                drawn["counted" if counted else label] += line[match.end() :].split()
        if line.startswith("values"):
            drawn["values"] += line.split()[1:]
    return drawn


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_drawn_with_its_own_numbers(name: str) -> None:
    """Text and SVG show what is in the buffers: nothing more, nothing less."""
    rank = PRESETS[name].default_rank
    kind = encoding(name, rank=rank, **({"block": (2,) * rank} if PRESETS[name].parameter == "block" else {}))
    made = tensor(_example(rank, kind), kind)
    storage = made.storage
    text, svg = storage.draw(columns=500).text, storage.draw(columns=500).svg()
    drawn = _drawn_in_text(text)
    loose = [level.type.format.value == "loose_compressed" for level in kind.levels]
    pairs = zip(storage.positions, loose, strict=True)
    pos = [[f"{a}:{b}" for a, b in p.reshape(-1, 2)] if pair else p.ravel() for p, pair in pairs if p is not None]
    assert sorted(drawn["positions"]) == sorted(str(number) for p in pos for number in p)
    # A batch has room behind it, and `0` in it; a range with two stored bounds counts all but the first coordinate.
    stored = [c.ravel() for c in storage.coordinates if c is not None]
    if name != "RowIntervals":
        assert _counts(drawn["coordinates"]) == _counts(number for c in stored for number in c)
    assert _counts(drawn["values"]) == _counts(f"{value:g}" for value in storage.values.ravel())
    texts = [element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
    numbers = [found for found in texts if re.fullmatch(r"_|-?[\d.]+(:\d+)?", found)]
    assert sorted(numbers) == sorted(number for row in drawn.values() for number in row)


def _counts(numbers: Iterable[object]) -> Counter[str]:
    return Counter("0" if str(number) == "_" else str(number) for number in numbers)


ALL = [(rank, name, kind) for rank, formats in WHOLE.items() for name, kind in formats]


@pytest.mark.parametrize(("rank", "name", "kind"), ALL, ids=[f"{name}-{rank}" for rank, name, _ in ALL])
def test_values_are_drawn_in_storage_order(rank: int, name: str, kind: Encoding) -> None:
    dense = {1: ROWS[3], 2: ROWS, 3: ROWS.reshape(2, 2, 6)}[rank]
    storage = tensor(fits_structured(dense, kind), kind).storage
    last = storage.draw(columns=500).text.splitlines()[-1].split()
    texts = [element.text for element in ET.fromstring(storage.draw(columns=500).svg()).iter() if element.text]
    assert last[0] == "values"
    assert last[1:] == texts[len(texts) - len(last) + 1 :]
    assert last[1:] == [f"{value:g}" for _, value in entries(storage)]
    first = storage.draw(columns=2).text.splitlines()[-1].split()
    assert first[1:] == (last[1:] if len(last) <= 3 else [*last[1:3], "..."])


def test_svg_is_whole_and_escaped() -> None:
    text = tensor(BLOCKS, "BSR(2, 2)").storage.draw().svg()
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "-&gt;" in text
    assert "href" not in text
    kinds = [element.get("stroke-dasharray") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(kinds) == 1 + 2 + 3 + 6 + 12 + 12  # the paper, four levels, the values
    assert sum(kind is not None for kind in kinds) == 2 + 6 + 12  # counted, not stored
    assert "..." in tensor(np.eye(99)).storage.draw().svg()


def test_only_room_that_there_can_be() -> None:
    storage = tensor([1.0]).storage
    with pytest.raises(OperandError, match="expected room for 1 column or more, but got 0"):
        storage.draw(columns=0)


def test_print_says_what_is_stored() -> None:
    lines = str(tensor(ROWS, "CSR")).splitlines()
    assert lines[0] == "SparseTensor f64[4,6] (i, j) -> (i : dense, j : compressed), 7 entries, 104 B"
    assert lines[1:3] == ["  (0, 0) 5.0", "  (0, 1) 1.0"]
    assert len(lines) == 8
    assert str(tensor(np.ones(12), "dense")).splitlines()[-1] == "  ... 2 more"


@pytest.mark.parametrize("name", PRESETS)
def test_print_says_what_every_preset_stores(name: str) -> None:
    rank = PRESETS[name].default_rank
    kind = encoding(name, rank=rank)
    dense = _example(rank, kind)
    made = tensor(dense, kind)
    head, *lines = str(made).splitlines()
    sizes = ",".join(map(str, dense.shape))
    assert head.startswith(f"SparseTensor f64[{sizes}] {made.encoding.map_text()}, {made.nse} entr")
    assert head.endswith(f", {sum(buffer.nbytes for buffer in made.storage.buffers())} B")
    shown = {}
    for line in lines:
        if match := re.fullmatch(r"  \(([\d, ]+)\) (\S+)", line):
            shown[tuple(map(int, match[1].strip(",").split(",")))] = float(match[2])
    assert shown == {tuple(where): dense[tuple(where)] for where in np.argwhere(dense).tolist()}


def test_print_says_what_is_not_listed() -> None:
    assert str(tensor(BLOCKS, "BSR(2, 2)")).splitlines()[-1] == "  and 4 stored zeros"
    part = tensor(ROWS, "CSR").slice(slice(0, 4, 3), slice(1, 5))
    assert "slice(0, 2, 3)" in str(part)
    assert str(part).splitlines()[0].endswith(", 4 entries, 104 B")
    assert str(part).splitlines()[1:] == ["  (0, 0) 1.0", "  (1, 0) 8.0", "  (1, 2) 4.0", "  (1, 3) 9.0"]
    kind = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), explicitVal = 1.0 : f64 }>"
    ones = tensor(np.eye(2), kind)
    assert ", explicitVal = 1.0" in str(ones).splitlines()[0]


def test_widths_of_a_storage_that_is_not_default() -> None:
    assert "posWidth = 8" in str(tensor(ROWS, encoding("CSR", pos_width=8)))


def test_raster_counts_entries_in_pixels() -> None:
    assert entry_raster(tensor(BLOCKS, "BSR(2, 2)")).tolist() == (BLOCKS != 0).astype(int).tolist()
    assert entry_raster(tensor([0.0, 3.0, 0.0])).tolist() == [[0, 1, 0]]
    rows = np.arange(5000)
    wide = entry_raster(tensor((np.array([rows, 4999 - rows]), np.ones(5000)), shape=(5000, 5000)))
    assert wide.shape == (512, 512)
    assert wide.sum() == 5000
    assert (np.diagonal(wide[:, ::-1]) > 0).all()
    assert entry_raster(tensor(np.zeros((0, 3)))).sum() == 0


def test_a_raster_for_each_matrix() -> None:
    assert entry_raster(tensor(PAIR, "BatchedCSR")).tolist() == (PAIR != 0).astype(int).tolist()
    tall = np.random.default_rng(3).random((7, 5, 3, 4)) < 0.2
    rasters = entry_raster(tensor(tall * 1.0, "CSF"))
    matrices = tall.reshape(35, 3, 4)
    groups = [matrices[[n for n in range(35) if n * 16 // 35 == panel]].sum(axis=0) for panel in range(16)]
    assert rasters.tolist() == np.array(groups).tolist()
    assert entry_raster(tensor(np.zeros((2, 0, 3)), "CSF")).sum() == 0


def test_panels_are_named_by_their_matrices() -> None:
    made = tensor(np.ones((35, 2, 2)), "CSF")
    assert [panel_name(made, panel, 16) for panel in (0, 1, 15)] == ["i = 0 to 2", "i = 3 to 4", "i = 33 to 34"]
    assert [panel_name(tensor(PAIR, "CSF"), panel, 2) for panel in (0, 1)] == ["i = 0", "i = 1"]
    four = tensor(np.ones((2, 2, 1, 1)), "CSF")
    assert [panel_name(four, panel, 2) for panel in (0, 1)] == ["i, j = 0, 0 to 0, 1", "i, j = 1, 0 to 1, 1"]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("extent", [0, 3])
def test_nothing_stored_is_drawn_for_every_preset(name: str, extent: int) -> None:
    empty = tensor(np.zeros((extent,) * encoding(name).dim_rank), name).storage
    levels = empty.draw().text.splitlines()
    assert sum(line.startswith("level ") for line in levels) % empty.encoding.lvl_rank == 0  # a tree each batch
    assert empty.draw().svg().endswith("</svg>\n")
