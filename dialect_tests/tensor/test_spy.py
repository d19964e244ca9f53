"""Spy plots and the tables of notebooks: the marks of SVG and PNG against the entries, for every storage."""

from __future__ import annotations

import base64
import os
import re
import struct
import sys
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest

from dialect_tests.tensor.reference import WHOLE, fits_structured
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import OperandError, TooLargeError, UnsupportedError
from mlir_sparse.tensor import SparseTensor, tensor

SVG = "{http://www.w3.org/2000/svg}"
ALL = [(rank, name, kind) for rank, formats in WHOLE.items() if rank <= 2 for name, kind in formats]


def pixels_of(data: bytes) -> np.ndarray:
    """Returns the pixels of a PNG file whose lines have no filter, after checking each part."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (size,), name = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        parts[name] = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + parts[name])
        at += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert depth == 8
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, {2: 3, 6: 4}[kind])


def marks_of(svg: str) -> list[tuple[int, int]]:
    """Returns row and column of each mark of the first matrix in an SVG document."""
    found = []
    group = ET.fromstring(svg).find(f"{SVG}g")
    for path in [] if group is None else group.iter(f"{SVG}path"):
        for first, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1H\d+z", path.get("d", "")):
            found += [(int(row), int(first) + step) for step in range(int(length))]
    return sorted(found)


@pytest.mark.parametrize(("rank", "name", "kind"), ALL, ids=[f"{name}-{rank}" for rank, name, _ in ALL])
def test_marks_are_the_entries_of_every_storage(rank: int, name: str, kind: Encoding) -> None:
    dense = np.zeros((4, 6))
    dense[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]
    dense = fits_structured(dense[3] if rank == 1 else dense, kind)
    drawing = tensor(dense, kind).spy()
    assert marks_of(drawing.svg()) == [tuple(at) for at in np.argwhere(np.atleast_2d(dense)).tolist()]
    drawn = [[mark == "█" for mark in line] for line in drawing.text.splitlines() if set(line) <= {"█", "·"}]
    assert drawn == (np.atleast_2d(dense) != 0).tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, -2.0, 1e-300 + 0j, 1j, True, np.int8(-1)])
def test_marks_are_entries_of_any_value(value: complex) -> None:
    dense = np.zeros((3, 3), np.result_type(value))
    dense[1, 2] = value
    assert marks_of(tensor(dense).spy().svg()) == [(1, 2)]
    assert "<svg" in tensor(dense)._repr_html_()


def test_a_huge_matrix_takes_time_for_its_entries() -> None:
    rows, columns = np.array([0, 5, 10**9 - 1, 3 * 10**8]), np.array([1, 10**9 - 1, 0, 5 * 10**8])
    made = tensor((np.array([rows, columns]), np.ones(4)), "DCSR", shape=(10**9, 10**9))
    expected = sorted({(int(i) * 160 // 10**9, int(j) * 160 // 10**9) for i, j in zip(rows, columns, strict=True)})
    assert marks_of(made.spy().svg()) == expected
    assert marks_of(made.spy(pixels=1).svg()) == [(0, 0)]
    assert "a mark: up to 6250000 x 6250000 elements, at most 1 entries" in str(made.spy())
    html = made._repr_html_()
    assert "1000000000 x 1000000000" in html
    assert len(html) < 5000


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1), (1, 5), (5, 1), (0,), (1,), (0, 2, 2), (1, 1, 1)])
def test_small_and_empty_shapes(shape: tuple[int, ...]) -> None:
    for made in (tensor(np.zeros(shape)), tensor(np.ones(shape))):
        drawing = made.spy()
        ET.fromstring(drawing.svg())
        assert pixels_of(drawing.png()).shape[2] == 3
        assert f"{' x '.join(map(str, shape))}, {made.nse} entr" in str(drawing)
        assert made._repr_html_().count("<svg") == 1
    full = tensor(np.ones(shape)).spy().svg()
    assert len(marks_of(full)) == (int(np.prod(shape)) if 0 not in shape else 0)


def test_what_is_shown_of_other_ranks_is_said() -> None:
    pair = np.zeros((2, 2, 3))
    pair[1, 0, 2] = 1
    text = str(tensor(pair, "CSF").spy())
    assert "each picture: a matrix of j down and k across" in text
    assert text.splitlines()[-6:] == ["i = 0", "···", "···", "i = 1", "··█", "···"]
    assert "one row: the elements from left to right" in str(tensor([0.0, 1.0]).spy())
    assert "adjacent matrices, one over the other, of j down" in str(tensor(np.ones((40, 2, 2)), "CSF").spy())


def test_many_marks_are_a_picture_of_pixels() -> None:
    dense = np.random.default_rng(0).random((200, 150)) < 0.4
    svg = tensor(dense * 1.0).spy(pixels=256).svg()
    image = ET.fromstring(svg).find(f"{SVG}image")
    assert image is not None
    pixels = pixels_of(base64.b64decode(image.get("href", "").split(",")[1]))
    assert ((pixels[..., 3] == 255) == dense).all()
    assert ((pixels[..., 3] == 0) == ~dense).all()


def test_density_is_shaded() -> None:
    dense = np.zeros((64, 64))
    dense[:32, :32], dense[63, 63] = 1, 1
    svg = tensor(dense).spy(pixels=2).svg()
    assert marks_of(svg) == [(0, 0), (1, 1)]
    shades = [float(path.get("fill-opacity", "")) for path in ET.fromstring(svg).iter(f"{SVG}path")]
    assert shades[-1] == 1 > min(shades) > 0.4  # seen, and lighter


def test_pictures_are_saved(tmp_path: Path) -> None:
    made = tensor(np.eye(3))
    for drawing in (made.spy(), made.storage.draw()):
        for name in ("a b.svg", "a.PNG", "a.txt"):
            drawing.save(tmp_path / name)
        assert (tmp_path / "a b.svg").read_text() == drawing.svg() == drawing._repr_svg_()
        assert (tmp_path / "a.PNG").read_bytes() == drawing.png()
        assert (tmp_path / "a.txt").read_text() == f"{drawing}\n" == f"{drawing!r}\n"
    with pytest.raises(UnsupportedError, match=r"expected a name that ends in .png, .svg, .txt, but got rows.pdf"):
        made.spy().save("rows.pdf")
    with pytest.raises(FileNotFoundError):
        made.spy().save(tmp_path / "none" / "a.svg")
    assert sorted(os.listdir(tmp_path)) == ["a b.svg", "a.PNG", "a.txt"]


def test_png_has_marks_where_entries_are() -> None:
    image = pixels_of(tensor([[0.0, 2.0], [3.0, 0.0]]).spy().png())
    rows, columns = np.nonzero((image == [0x2F, 0x73, 0xBD]).all(axis=2))
    half = (rows.min() + rows.max()) // 2
    assert rows.size == 2 * 320 * 320  # two of four squares of 320 pixels
    assert columns[rows <= half].min() > columns[rows > half].max()


def test_pictures_that_are_too_large_are_refused() -> None:
    made = tensor(np.ones((2, 30000)))
    with pytest.raises(TooLargeError, match=r"expected a picture of at most 67,108,864 pixels, but got .*save it as"):
        made.storage.draw(columns=60000).png()
    for pixels in (0, -1, 5000):
        with pytest.raises(OperandError, match=f"expected 1 to 4096 pixels .* but got {pixels}"):
            made.spy(pixels=pixels)


def test_html_is_escaped_and_fits_pages() -> None:
    html = tensor(np.eye(3), "BSR(2, 2)")._repr_html_()
    assert "-&gt;" in html
    assert "<script" not in html
    assert re.search(r"(?<![-\w])color:(?!inherit)", html) is None  # the page's own colour, dark or light
    assert "flex-wrap:wrap" in html
    assert 'fill="white"' not in html
    drawn = tensor(np.eye(40)).storage.draw()._repr_html_()
    assert "overflow-x:auto" in drawn
    assert "currentColor" in drawn


def test_huge_tensors_are_drawn_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor(np.eye(1))._repr_html_()
    monkeypatch.setattr(sys.modules["mlir_sparse.tensor.draw.tensor_html"], "_DRAWN", 3)
    html = tensor(np.eye(4))._repr_html_()
    assert "many entries: call .spy()" in html
    assert "<svg" not in html


def test_a_slice_shows_its_own_entries() -> None:
    part: SparseTensor = tensor(np.diag([1.0, 2.0, 3.0, 4.0])).slice(slice(1, 4, 2), slice(1, 4))
    assert marks_of(part.spy().svg()) == [(0, 0), (1, 2)]
