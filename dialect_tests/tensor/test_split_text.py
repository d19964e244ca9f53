"""`mlir-sparse split`: text files cut into files that are one source."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner

import mlir_sparse as ms
from mlir_sparse.tensor.files import coordinate_counts, split_text, text_stream
from mlir_sparse.tools.cli import main

_RANDOM = np.random.default_rng(5)
D = np.where(_RANDOM.random((500, 60)) < 0.1, _RANDOM.random((500, 60)), 0)


def _split(path: Path, pieces: int, folder: Path, *more: str) -> str:
    ran = CliRunner().invoke(main, ["split", str(path), "--pieces", str(pieces), "-o", str(folder), *more])
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.fixture
def path(tmp_path: Path) -> Path:
    entries = sp.coo_array(D)
    order = _RANDOM.permutation(entries.nnz)  # in no order
    scipy.io.mmwrite(
        tmp_path / "a.mtx", sp.coo_array((entries.data[order], (entries.row[order], entries.col[order])), D.shape)
    )
    return tmp_path / "a.mtx"


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "BSR(3, 4)"])
def test_the_folder_is_the_matrix(storage: str, pieces: int, path: Path, tmp_path: Path) -> None:
    told = _split(path, pieces, tmp_path / "parts", "-f", storage)
    assert f"500x60, {np.count_nonzero(D):,} entries in {len(list((tmp_path / 'parts').iterdir()))} files" in told
    source = ms.source(tmp_path / "parts")
    assert source.axis == (1 if storage == "CSC" else 0)
    np.testing.assert_array_equal(source.read(0, source.shape[source.axis]).to_numpy(), D)
    y = ms.stream("y(i) = A(i,j) * x(j)", A=source, x=np.ones(60), memory=60_000)
    np.testing.assert_allclose(y, D.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("storage", ["CSR", "DCSR"])
def test_more_pieces_than_rows(storage: str, tmp_path: Path) -> None:
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(D[:12]))
    _split(tmp_path / "a.mtx", 5000, tmp_path / "parts", "-f", storage)
    assert len(list((tmp_path / "parts").iterdir())) == 12
    np.testing.assert_array_equal(ms.source(tmp_path / "parts").read(0, 12).to_numpy(), D[:12])


def test_parts_have_about_as_many_entries_where_rows_do_not(tmp_path: Path) -> None:
    rows = np.concatenate([np.repeat(np.arange(100), 50), np.arange(10, 100_000, 20)])
    skewed = sp.coo_array((np.ones(rows.size), (rows, np.arange(rows.size) % 977)), (100_000, 977))
    scipy.io.mmwrite(tmp_path / "a.mtx", skewed)
    _split(tmp_path / "a.mtx", 8, tmp_path / "parts")
    sizes = [ms.read(one).nse for one in sorted((tmp_path / "parts").iterdir())]
    assert len(sizes) == 8
    assert max(sizes) <= 1.1 * np.mean(sizes)
    assert sum(sizes) == skewed.tocsr().nnz


def test_blocks_of_text_are_read_one_by_one(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks of 512 bytes instead of 4 MiB, and sorted into parts 100 at a time."""
    monkeypatch.setattr(text_stream, "_BLOCK", 512)
    monkeypatch.setattr(split_text, "_SHUFFLED", 100)
    monkeypatch.setattr(coordinate_counts, "_BINS", 16)
    _split(path, 5, tmp_path / "parts")
    np.testing.assert_array_equal(ms.source(tmp_path / "parts").read(0, 500).to_numpy(), D)


@pytest.mark.parametrize(
    ("head", "lines", "wanted"),
    [
        ("coordinate real symmetric", ["3 3 2", "2 1 5", "3 3 1"], [[0, 5, 0], [5, 0, 0], [0, 0, 1]]),
        ("coordinate integer skew-symmetric", ["3 3 1", "3 1 4"], [[0, 0, -4], [0, 0, 0], [4, 0, 0]]),
        ("coordinate pattern general", ["3 3 2", "1 1", "% a word", "3 2"], [[1, 0, 0], [0, 0, 0], [0, 1, 0]]),
        ("coordinate complex hermitian", ["3 3 1", "2 1 1 2"], [[0, 1 - 2j, 0], [1 + 2j, 0, 0], [0, 0, 0]]),
        ("coordinate real general", ["3 3 2", "2 2 1", "2 2 3"], [[0, 0, 0], [0, 4, 0], [0, 0, 0]]),
        ("coordinate real general", ["3 3 0"], np.zeros((3, 3)).tolist()),
    ],
)
def test_kinds_of_matrices(head: str, lines: Sequence[str], wanted: object, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.mtx.gz", "wt") as file:
        file.write("\n".join([f"%%MatrixMarket matrix {head}", *lines]))
    _split(tmp_path / "a.mtx.gz", 2, tmp_path / "parts")
    assert ms.source(tmp_path / "parts").read(0, 3).to_numpy().tolist() == wanted


def test_tensors_of_rank_three_without_extents(tmp_path: Path) -> None:
    T = np.where(_RANDOM.random((40, 5, 6)) < 0.2, 2.5, 0)
    T[39, 4, 5] = 1
    dims = np.nonzero(T)
    (tmp_path / "a.tns").write_text(
        "".join(f"{i + 1} {j + 1} {k + 1} {T[i, j, k]}\n" for i, j, k in zip(*dims, strict=True))
    )
    for storage in ("COO", "CSF"):
        _split(tmp_path / "a.tns", 4, tmp_path / storage, *(() if storage == "COO" else ("-f", storage)))
        np.testing.assert_array_equal(ms.source(tmp_path / storage).read(0, 40).to_numpy(), T)
    _split(tmp_path / "a.tns", 4, tmp_path / "wide", "--shape", "50x5x6")
    assert ms.source(tmp_path / "wide").shape == (50, 5, 6)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n", (), "expected 3 entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n", (), "a.mtx:4: expected 1 entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 7 1\n", (), "a.mtx:3: expected a coordinate from 1"),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", (), "expected entries, but got an array"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", ("-f", "COO"), "choose CSR or DCSR"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", ("-f", "DIA"), "numbers a dimension"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", ("-f", "CSF"), "rank 2"),
        ("nothing of the kind\n", (), "expected a Matrix Market file"),
    ],
)
def test_what_cannot_be_split_is_refused_and_leaves_nothing(
    text: str, more: Sequence[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.mtx").write_text(text)
    command = ["split", str(tmp_path / "a.mtx"), "--pieces", "2", "-o", str(tmp_path / "parts"), *more]
    ran = CliRunner().invoke(main, command)
    assert ran.exit_code == 1
    assert message in ran.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.mtx"]


def test_a_folder_with_something_in_it_stays(path: Path, tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, ["split", str(path), "--pieces", "2", "-o", str(tmp_path)])
    assert ran.exit_code == 1
    assert "has something in it already" in ran.stderr


def _whole_in_parts(tmp_path: Path, storage: str = "CSR") -> Path:
    random = np.random.default_rng(5)
    whole = ms.tensor(random.random((40, 30)) * (random.random((40, 30)) < 0.3), "CSR")
    ms.write(tmp_path / "a.mtx", whole)
    _split(tmp_path / "a.mtx", 4, tmp_path / "parts", "-f", storage)
    return tmp_path / "parts"


@pytest.mark.parametrize(("storage", "word"), [("CSR", "rows"), ("CSC", "dimension 1,"), ("DCSR", "rows")])
@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_a_missing_part_is_named(tmp_path: Path, storage: str, word: str, missing: int) -> None:
    folder = _whole_in_parts(tmp_path, storage)
    low, high, extent = np.load(folder / f"part-0000{missing}.npz")["part_of"].tolist()
    assert extent == (30 if storage == "CSC" else 40)
    (folder / f"part-0000{missing}.npz").unlink()
    near = folder / f"part-0000{missing + (-1 if missing == 3 else 1)}.npz"
    with pytest.raises(ms.ExtentError, match=rf"{word} {low} to {high} are missing .*{re.escape(str(near))}"):
        ms.source(folder)


def test_parts_in_another_order_or_from_another_tensor(tmp_path: Path) -> None:
    folder = _whole_in_parts(tmp_path)
    names = sorted(folder.iterdir())
    assert ms.source(names[1:3]).read(0, 3).shape == (3, 30)  # some of them that follow one another
    with pytest.raises(ms.ExtentError, match=r"come twice between .*part-00001.npz and .*part-00001.npz"):
        ms.source([names[0], names[1], names[1]])
    with pytest.raises(ms.ExtentError, match=r"rows \d+ to \d+ are missing between .*00000.npz and .*00002.npz"):
        ms.source([names[0], names[2], names[1]])
    ms.write(folder / "zero.npz", ms.tensor(np.zeros((3, 30)), "CSR"))
    with pytest.raises(ms.ExtentError, match=r"zero.npz does not say where it stands"):
        ms.source(folder)
    (folder / "zero.npz").unlink()
    ms.write(tmp_path / "b.mtx", ms.tensor(np.eye(50, 30), "CSR"))
    _split(tmp_path / "b.mtx", 4, tmp_path / "others")
    (folder / "part-00003.npz").unlink()
    (tmp_path / "others" / "part-00003.npz").rename(folder / "part-00003.npz")
    with pytest.raises(ms.ExtentError, match="parts of one tensor, but got parts of extents 40 and 50"):
        ms.source(folder)


def test_a_folder_of_an_older_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    folder = _whole_in_parts(tmp_path)
    for part in folder.iterdir():  # whose files did not say where they stand
        with np.load(part) as arrays:
            kept = {name: arrays[name] for name in arrays if name != "part_of"}
        np.savez(part, **kept)
    whole = ms.read(tmp_path / "a.mtx").to_numpy()
    for read in (ms.source, pytest.importorskip("mlir_sparse.dask").from_files):
        with pytest.raises(
            ms.FileFormatError, match=r"parts: expected files that say where they stand.*cut the text anew"
        ):
            read(folder)
    np.testing.assert_allclose(ms.source(sorted(folder.iterdir())).read(0, 40).to_numpy(), whole)
    for number, part in enumerate(sorted(folder.iterdir())):  # by names of one's own they are what one says they are
        part.rename(folder / f"rows{number}.npz")
    np.testing.assert_allclose(ms.source(folder).read(0, 40).to_numpy(), whole)


def test_scipy_reads_parts(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    folder = _whole_in_parts(tmp_path)
    rows = sparse.vstack([sparse.load_npz(part) for part in sorted(folder.iterdir())])
    np.testing.assert_allclose(rows.toarray(), ms.read(tmp_path / "a.mtx").to_numpy())
