"""Text files as sources: parts are read from the lines that have them, or from files that the text was cut into."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.files import text_stream
from mlir_sparse.tensor.files.open_source import _CutText
from mlir_sparse.tensor.files.text_source import TextSource

RANDOM = np.random.default_rng(21)
D = np.where(RANDOM.random((600, 90)) < 0.1, RANDOM.integers(1, 99, (600, 90)), 0).astype(float)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stream, "_BLOCK", 1 << 12)


def _text(dense: np.ndarray, order: str = "rows", head: str = "real general", digits: str = ".1f") -> str:
    at = np.argwhere(dense if order != "columns" else dense.T)
    at = at[:, ::-1] if order == "columns" else RANDOM.permutation(at) if order == "any" else at
    lines = [f"{i + 1} {j + 1}" + (f" {dense[i, j]:{digits}}" if digits else "") for i, j in at]
    sizes = f"{dense.shape[0]} {dense.shape[1]} {len(lines)}"
    return "\n".join([f"%%MatrixMarket matrix coordinate {head}", "% made here", sizes, *lines, ""])


def _check(source: Any, whole: ms.SparseTensor, axis: int) -> None:
    assert (source.shape, source.type.dtype.numpy) == (whole.shape, whole.dtype)
    extent, dense = whole.shape[axis], whole.to_numpy()
    for low, high in ((0, 0), (0, 1), (extent // 3, extent // 2), (extent - 1, extent), (0, extent)):
        part = source.read(low, high)
        assert part.encoding == source.type.encoding
        np.testing.assert_array_equal(part.to_numpy(), dense[(slice(None),) * axis + (slice(low, high),)])


@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("order", ["rows", "columns", "any"])
def test_parts_of_a_matrix_in_any_order(order: str, along: int, tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text(_text(D, order))
    source = ms.source(path, along=along)
    assert isinstance(source, TextSource if order == ("rows", "columns")[along] else _CutText)
    whole = ms.read(path)
    _check(source, whole, along)
    _check(pickle.loads(pickle.dumps(source)), whole, along)


@pytest.mark.parametrize(
    ("head", "digits"), [("pattern general", ""), ("integer general", ".0f"), ("real symmetric", ".2f")]
)
def test_other_fields_and_symmetries(head: str, digits: str, tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text(_text(np.tril(D[:90]) if "symmetric" in head else D, head=head, digits=digits))
    _check(ms.source(path), ms.read(path), 0)


def test_compressed_text_is_cut_into_files_that_go_with_the_source(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx.gz"
    path.write_bytes(gzip.compress(_text(D).encode()))
    source = ms.source(path)
    folder = Path(source._folder.name)
    _check(source, ms.read(path), 0)
    assert any(folder.iterdir())
    del source
    assert not folder.exists()


@pytest.mark.parametrize("along", [0, 2])
def test_tensors_without_extents(along: int, tmp_path: Path) -> None:
    dense = np.where(RANDOM.random((40, 12, 9)) < 0.2, 1.5, 0)
    dense[-1, -1, -1] = 1.0
    at = np.argwhere(dense)
    path = tmp_path / "a.tns"
    path.write_text("\n".join(" ".join(map(str, (*(one + 1), dense[tuple(one)]))) for one in at))
    _check(ms.source(path, along=along), ms.read(path), along)


def test_a_stream_reads_each_line_twice_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for the index, and once for a part: neighbouring parts share blocks that are kept."""
    path = tmp_path / "a.mtx"
    path.write_text(_text(D))
    read, fill = [0], text_stream.TextStream._fill

    def counted(self: Any) -> None:
        before = self._end - self._begin
        fill(self)
        read[0] += self._end - before

    monkeypatch.setattr(text_stream.TextStream, "_fill", counted)
    source = ms.source(path)
    assert read[0] < 1.1 * path.stat().st_size
    x = RANDOM.random(90)
    np.testing.assert_allclose(ms.stream("y(i) = A(i,j) * x(j)", A=source, x=x, memory=60_000), D @ x)
    assert len(source.bounds(15_000)) > 4
    # Each block that is read again has the head of the file read before it.
    assert read[0] < 2.2 * path.stat().st_size + len(source.blocks) * (1 << 12)


def test_files_that_are_wrong_or_have_changed_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text(_text(D))
    source = ms.source(path)
    with pytest.raises(ms.OperandError, match=r"a dimension of .*a.mtx, from 0 to 1, but got along=2"):
        ms.source(path, along=2)
    path.write_text("\n".join(_text(D).splitlines()[:-3]))
    with pytest.raises(ms.FileFormatError, match=r"a.mtx: expected the file as it was .* but it has changed"):
        source.read(0, 4)
    with pytest.raises(ms.FileFormatError, match="the file is truncated"):
        ms.source(path)
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 7 3\n")
    with pytest.raises(ms.FileFormatError, match=r"a.mtx:3: expected a coordinate from 1 to 2"):
        ms.source(path)
    path.write_text("%%MatrixMarket matrix array real general\n1 2\n3\n4\n")
    with pytest.raises(ms.UnsupportedError, match="expected entries, but got an array"):
        ms.source(path)


def test_a_file_without_entries(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n5 4 0\n")
    part = ms.source(path).read(1, 3)
    assert (part.shape, part.nse) == ((2, 4), 0)
