"""Pictures of storage, against pictures drawn by hand, and for every preset."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialect_tests.tensor.reference import WHOLE, entries, fits_structured
from mlir_sparse.encoding import PRESETS, Encoding, encoding
from mlir_sparse.errors import MissingPackageError, OperandError, RankError, UnsupportedError
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor
from mlir_sparse.tensor.spy import entry_raster

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
    assert storage.draw(columns=3 if picture is CUT else 24) == picture


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
    assert storage.draw() == picture


def test_room_between_parents_is_drawn() -> None:
    loose = "(i, j) -> (i : dense, j : loose_compressed)"
    made = SparseTensor.from_levels(loose, (2, 4), [None, [0, 1, 2, 4]], [None, [3, 0, 0, 2]], [5.0, 0.0, 6.0, 7.0])
    assert made.storage.draw() == LOOSE


def test_values_of_every_kind_are_short() -> None:
    for dtype, text in (("i8", "-3"), ("f16", "-3"), ("bf16", "-3"), ("f64", "-3"), ("c64", "-3+0j")):
        assert tensor([-3.0, 0.0], dtype=dtype).storage.draw().splitlines()[-1].split() == ["values", text]


ALL = [(rank, name, kind) for rank, formats in WHOLE.items() for name, kind in formats]


@pytest.mark.parametrize(("rank", "name", "kind"), ALL, ids=[f"{name}-{rank}" for rank, name, _ in ALL])
def test_every_preset_is_drawn(rank: int, name: str, kind: Encoding) -> None:
    dense = {1: ROWS[3], 2: ROWS, 3: ROWS.reshape(2, 2, 6)}[rank]
    try:
        storage = tensor(fits_structured(dense, kind), kind).storage
    except UnsupportedError as error:
        pytest.skip(f"not stored here: {error.message}")
    last = storage.draw(columns=500).splitlines()[-1].split()
    texts = [element.text for element in ET.fromstring(storage.draw("svg", columns=500)).iter() if element.text]
    assert last[0] == "values"
    assert last[1:] == texts[len(texts) - len(last) + 1 :]
    if kind.foreign_reason is None:  # the reference walks the dialect's own level formats
        assert last[1:] == [f"{value:g}" for _, value in entries(storage)]
    first = storage.draw(columns=2).splitlines()[-1].split()
    assert first[1:] == (last[1:] if len(last) <= 3 else [*last[1:3], "..."])


def test_svg_is_whole_and_escaped() -> None:
    text = tensor(BLOCKS, "BSR(2, 2)").storage.draw(format="svg")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "-&gt;" in text
    assert "href" not in text
    kinds = [element.get("stroke-dasharray") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(kinds) == 1 + 2 + 3 + 6 + 12 + 12  # the paper, four levels, the values
    assert sum(kind is not None for kind in kinds) == 2 + 6 + 12  # counted, not stored
    assert "..." in tensor(np.eye(99)).storage.draw("svg")


def test_only_known_formats_and_room() -> None:
    storage = tensor([1.0]).storage
    with pytest.raises(OperandError, match="expected 'text' or 'svg' as format of a picture, but got 'png'"):
        storage.draw("png")  # type: ignore[arg-type]
    with pytest.raises(OperandError, match="expected room for 1 column or more, but got 0"):
        storage.draw(columns=0)


def test_print_says_what_is_stored() -> None:
    lines = str(tensor(ROWS, "CSR")).splitlines()
    assert lines[0] == "SparseTensor f64[4,6] (i, j) -> (i : dense, j : compressed), 7 entries, 104 B"
    assert lines[1:3] == ["  (0, 0) 5.0", "  (0, 1) 1.0"]
    assert len(lines) == 8
    assert str(tensor(np.ones(12), "dense")).splitlines()[-1] == "  ... 2 more"


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


def test_spy_is_svg_and_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="expected matplotlib for spy plots (extra plot)")
    made = tensor(ROWS)
    text = made.spy(tmp_path / "rows.png")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert made.spy() == text
    assert (tmp_path / "rows.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(UnsupportedError, match=r"expected a name that ends in \..*\.svg.*, but got rows.txt"):
        made.spy("rows.txt")
    assert tensor(np.zeros((0, 3))).spy().startswith("<?xml")


def test_spy_names_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match=r"expected matplotlib for spy plots, but got .*mlir-sparse\[plot\]"):
        tensor(ROWS).spy()
    with pytest.raises(RankError, match="expected a matrix or vector to plot, but got a tensor of rank 3"):
        tensor(ROWS.reshape(2, 2, 6)).spy()


def test_the_page_of_pictures_has_every_preset(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "pictures.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "new" / "all.html")], check=True)
    page = (tmp_path / "new" / "all.html").read_text()
    assert [line[4:-5] for line in page.splitlines() if line.startswith("<h2>")][-len(PRESETS) :] == list(PRESETS)
    assert CSR.splitlines()[2] in page
