"""Files against SciPy's reader, examples written out by hand, and files that are broken in every way."""

from __future__ import annotations

import gzip
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.tensor.reference import dense_arrays, same
from mlir_sparse.errors import DTypeError, FileFormatError, OperandError, RankError, SparseError, UnsupportedError
from mlir_sparse.tensor import SparseTensor, read, tensor, write

MTX = "%%MatrixMarket matrix coordinate real general\n"
TTX = "%%MatrixMarket tensor coordinate real general\n"


@pytest.fixture
def put(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write_text(name: str, text: str) -> Path:
        path = tmp_path / name
        data = text.encode("latin-1")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_text


COORDINATE = {
    "real general": ("3 3 3\n1 1 2.5\n3 2 -1e2\n2 3 4\n", [[2.5, 0, 0], [0, 0, 4], [0, -100, 0]]),
    "integer general": ("3 3 1\n2 3 -7\n", [[0, 0, 0], [0, 0, -7], [0, 0, 0]]),
    "complex general": ("3 3 1\n2 3 1 -2\n", [[0, 0, 0], [0, 0, 1 - 2j], [0, 0, 0]]),
    "pattern general": ("3 3 1\n2 3\n", [[0, 0, 0], [0, 0, 1], [0, 0, 0]]),
    "real symmetric": ("3 3 2\n1 1 2\n3 1 5\n", [[2, 0, 5], [0, 0, 0], [5, 0, 0]]),
    "pattern symmetric": ("3 3 2\n1 1\n3 1\n", [[1, 0, 1], [0, 0, 0], [1, 0, 0]]),
    "real skew-symmetric": ("3 3 1\n3 1 5\n", [[0, 0, -5], [0, 0, 0], [5, 0, 0]]),
    "complex hermitian": ("3 3 2\n1 1 2 0\n3 1 5 1\n", [[2, 0, 5 - 1j], [0, 0, 0], [5 + 1j, 0, 0]]),
}
ARRAY = {
    "real general": ("2 3\n1\n2\n3\n4\n5\n6\n", [[1, 3, 5], [2, 4, 6]]),
    "integer general": ("2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
    "complex general": ("1 2\n1 2\n3 4\n", [[1 + 2j, 3 + 4j]]),
    "real symmetric": ("2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
}


@pytest.mark.parametrize("end", ["mtx", "mtx.gz", "txt"])
@pytest.mark.parametrize("kind", COORDINATE)
def test_matrix_market_coordinates(put, kind: str, end: str) -> None:  # type: ignore[no-untyped-def]
    body, expected = COORDINATE[kind]
    path = put(f"a.{end}", f"%%MatrixMarket matrix coordinate {kind}\n% a comment \xe9\n%\n{body}")
    made = read(path)
    assert made.encoding.level_types == tensor(np.eye(2)).encoding.level_types
    assert made.to_numpy().tolist() == expected
    assert made.dtype.kind == {"i": "i", "c": "c"}.get(kind[0], "f")
    assert read(path, "DCSC").to_numpy().tolist() == expected
    assert read(path, "COO", dtype="c64").dtype == np.complex64


@pytest.mark.parametrize("kind", ARRAY)
def test_matrix_market_arrays(put, kind: str) -> None:  # type: ignore[no-untyped-def]
    body, expected = ARRAY[kind]
    path = put("a.mtx", f"%%MatrixMarket matrix array {kind}\n%\n{body}")
    assert isinstance(read(path), np.ndarray)
    assert read(path).tolist() == expected
    assert isinstance(read(path, "CSR"), SparseTensor)
    assert read(path, "CSR").to_numpy().tolist() == expected
    assert read(path, dtype="f32" if "complex" not in kind else "c64").dtype.itemsize in (4, 8)


def test_matrix_market_vectors(put) -> None:  # type: ignore[no-untyped-def]
    vector = read(put("a.mtx", "%%MatrixMarket vector coordinate real general\n5 2\n1 2.5\n4 1\n"))
    assert vector.to_numpy().tolist() == [2.5, 0, 0, 1, 0]
    assert read(put("b.mtx", "%%MatrixMarket vector array real general\n2\n2.5\n1\n")).tolist() == [2.5, 1]


def test_tensors_of_taco(put) -> None:  # type: ignore[no-untyped-def]
    path = put("a.ttx", f"{TTX}%\n% c\n\n2 3 4 3\n1 1 1 1.5\n2 3 4 -2\n1 1 1 1\n")
    made = read(path)
    assert made.shape == (2, 3, 4)
    assert made.to_coo()[0].T.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert made.to_coo()[1].tolist() == [2.5, -2]
    body = "".join(f"{v}\n" for v in range(24))
    dense = read(put("b.ttx", f"%%MatrixMarket tensor array real general\n2 3 4\n{body}"))
    assert same(dense, np.arange(24.0).reshape(2, 3, 4, order="F"))
    pattern = read(put("c.ttx", "%%MatrixMarket tensor coordinate pattern general\n2 2 2 1\n2 1 2\n"))
    assert pattern.to_coo()[1].tolist() == [1]
    cplx = read(put("d.ttx", "%%MatrixMarket tensor coordinate complex general\n2 1\n2 1 -2\n"))
    assert cplx.to_numpy().tolist() == [0, 1 - 2j]


def test_frostt(put) -> None:  # type: ignore[no-untyped-def]
    text = "# a comment\n1 2 3 1.5\n\n2 1 1 -2e3  # and another\n1 2 3 1\n"
    for name in ("a.tns", "a.tns.gz"):
        made = read(put(name, text))
        assert made.shape == (2, 2, 3)
        assert made.to_numpy()[0, 1, 2] == 2.5
        assert read(put(name, text), "CSF", shape=(4, 5, 6)).shape == (4, 5, 6)
    assert read(put("b.tns", "0 0 5\n1 2 6\n"), index_base=0).to_numpy().tolist() == [[5, 0, 0], [0, 0, 6]]


def test_sptensor_text_from_0_or_1(put) -> None:  # type: ignore[no-untyped-def]
    zero = read(put("a.txt", "sptensor\n2\n2 3\n2\n0 0 0.5\n1 2 7\n"))
    one = read(put("b.txt", "sptensor\n2\n2 3\n2\n1 1 0.5\n2 3 7\n"))
    assert zero.to_numpy().tolist() == one.to_numpy().tolist() == [[0.5, 0, 0], [0, 0, 7]]
    forced = read(put("c.txt", "sptensor\n2\n2 3\n1\n1 1 0.5\n"), index_base=1)
    assert forced.to_numpy().tolist() == [[0.5, 0, 0], [0, 0, 0]]


BROKEN = [
    ("a.mtx", "", "a.mtx: expected a tensor, but got an empty file"),
    ("a.mtx", "\n \n", "but got an empty file"),
    ("a.mtx", "hello\n1 1 1\n", "expected a line that begins with %%MatrixMarket or sptensor, .*, but got 'hello'"),
    ("a.mtx", MTX, r"a.mtx:1: expected a line of extents after it, but got the end of the file"),
    ("a.mtx", MTX + "3 3 2\n1 1 1\n", r"expected 2 entries, .*, but got 1: the file is truncated"),
    ("a.mtx", MTX + "3 3 1\n1 1 1\n2 2 2\n", r"a.mtx:4: expected 1 entries, .* another: '2 2 2': the file is longer"),
    ("a.mtx", MTX + "3 3 1\n4 1 1\n", r"a.mtx:3: expected a coordinate from 1 to 3 in dimension 0, but got 4 in"),
    ("a.mtx", MTX + "3 3 1\n0 1 1\n", r"a.mtx:3: expected a coordinate from 1 to 3 in dimension 0, but got 0 in"),
    ("a.mtx", MTX + "3 3 1\n1 x 1\n", r"a.mtx:3: expected an integer, but got 'x' in '1 x 1'"),
    ("a.mtx", MTX + "3 3 1\n1 1 x\n", r"a.mtx:3: expected a number, but got 'x' in '1 1 x'"),
    ("a.mtx", MTX + "3 3\n1 1 x\n", r"a.mtx:2: expected 2 extents and the number of entries, but got '3 3'"),
    ("a.mtx", MTX + "3 3 -1\n", r"a.mtx:2: expected extents, but got '3 3 -1'"),
    ("a.mtx", MTX + "3 3 99999999999999\n1 1 1\n", r"expected 9{14} entries, .* too few bytes for them"),
    (
        "a.mtx",
        MTX + "99999999999999999999 3 1\n1 1 1\n",
        r"a.mtx:2: expected extents below 2\^63, but got 99999999999999999999",
    ),
    ("a.mtx", MTX.replace("general", "symmetric") + "3 4 1\n2 1 1\n", "a square matrix for symmetric, but got 3 x 4"),
    ("a.mtx", MTX.replace("real", "quaternion") + "3 4 1\n2 1 1\n", r"a.mtx:1: "),
    ("a.ttx", TTX, r"a.ttx:1: expected a line of extents after it, but got the end of the file"),
    ("a.ttx", TTX + "2 x 2 1\n", r"a.ttx:2: expected extents, but got '2 x 2 1'"),
    ("a.ttx", TTX + "2\n", r"a.ttx:2: expected one or more extents and the number of entries, but got '2'"),
    ("a.ttx", TTX + "2 2 2 2\n1 1 1 1\n", r"expected 2 entries, .*, but got 1: the file is truncated"),
    ("a.ttx", TTX + "2 2 2 1\n1 1 1 1\n2 2 2 2\n", r"expected 1 entries, .*, but got another: .*: the file is longer"),
    (
        "a.ttx",
        TTX + "% c\n2 2 2 1\n\n1 3 1 1\n",
        r"a.ttx:5: expected a coordinate from 1 to 2 in dimension 1, but got 3",
    ),
    (
        "a.ttx",
        TTX + "2 2 2 2\n1 1 1 1\n1 1 1\n",
        r"a.ttx:4: expected 3 coordinates and 1 value on each line, but got 3",
    ),
    ("a.ttx", TTX + "2 2 2 1\n1 1.5 1 1\n", r"a.ttx:3: expected an integer, but got '1.5'"),
    ("a.ttx", TTX + "2 2 2 1\n1 1 1 one\n", r"a.ttx:3: expected a number, but got 'one'"),
    ("a.ttx", TTX.replace("real", "quaternion") + "2 1\n1 1\n", r"a.ttx:1: expected real or .* but got 'quaternion'"),
    ("a.ttx", TTX.replace("general", "symmetric") + "2 1\n1 1\n", r"a.ttx:1: expected general .* but got 'symmetric'"),
    ("a.ttx", "%%MatrixMarket tensor\n2 1\n1 1\n", r"a.ttx:1: expected coordinate or array .* but got ''"),
    ("a.tns", "# nothing\n", r"expected entries or shape=\.\.\., but got a file without either"),
    ("a.tns", "1 2 3 1\n1 2 3\n", r"a.tns:2: expected 3 coordinates and 1 value on each line, but got 3 words"),
    (
        "a.tns",
        "# c\n1 2 3 1\n\n0 2 3 4\n",
        r"a.tns:4: expected a coordinate from 1 in dimension 0, but got 0 in .0 2 3 4.: give index_base=0",
    ),
    ("a.tns", "1 2 z 1\n", r"a.tns:1: expected an integer, but got 'z'"),
    ("a.tns", "# shape: 1 2\n1 3 1\n", r"a.tns:2: expected a coordinate from 1 to 2 in dimension 1, but got 3"),
    ("a.txt", "sptensor\n2\n", r"a.txt:2: expected rank, extents and number of entries, but got the end"),
    ("a.txt", "sptensor\n2\n2 2 2\n1\n0 0 1\n", r"a.txt:3: expected 2 extents, but got 3"),
    ("a.txt", "sptensor\n2\n2 2\n2\n0 0 1\n", r"expected 2 entries, .* truncated"),
    ("a.txt", "sptensor\ntwo\n", r"a.txt:2: expected numbers of the head of an sptensor, but got 'two'"),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_broken_files(put, name: str, text: str, message: str, end: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FileFormatError, match=message.replace(name, name + end)):
        read(put(name + end, text))


@pytest.mark.parametrize("name", ["a.mtx.gz", "a.tns.gz", "a.ttx.gz"])
def test_truncated_gzip_files(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, tensor(np.arange(400.0).reshape(20, 20)))
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match=r"expected a whole gzip file, but got .*: fetch it again"):
        read(tmp_path / name)


@examples(150)
@given(
    text=st.text("%MatrixMarket tensor#sp\n 0123.e-", max_size=60), name=st.sampled_from(["x.mtx", "x.ttx", "x.tns"])
)
def test_any_text_is_a_tensor_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_text(text)
    with suppress(SparseError):
        read(path)


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.mtx")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)


@pytest.mark.parametrize("name", ["a.mtx", "a.npz", "a.bsp.h5", "a.tns.gz"])
def test_a_folder_that_is_missing_is_told_by_the_name_that_was_given(tmp_path: Path, name: str) -> None:
    if name.endswith(".h5"):
        pytest.importorskip("h5py")
    path = str(tmp_path / "absent" / name)
    with pytest.raises(FileNotFoundError) as caught:
        write(path, np.eye(2))
    assert caught.value.filename == path


@examples(60)
@given(data=st.data(), end=st.sampled_from(["mtx", "ttx", "tns", "mtx.gz", "ttx.gz", "tns.gz"]), sparse=st.booleans())
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, end: str, sparse: bool
) -> None:
    rank = 2 if "mtx" in end else data.draw(st.integers(1, 3))
    dense = data.draw(dense_arrays(rank, ["f64", "f32", "i64"] if "tns" in end else ["f64", "f32", "i64", "c128"]))
    dense = dense / dense.dtype.type(3) if dense.dtype.kind != "i" else dense
    path = tmp_path_factory.getbasetemp() / f"round.{end}"
    write(path, tensor(dense) if sparse else dense, comment="one\ntwo")
    back = read(path)
    assert isinstance(back, SparseTensor) == (sparse or "tns" in end)
    # Digits are those of the narrow number: it comes back exactly.
    assert np.array_equal(np.asarray(back).astype(dense.dtype), dense)


@pytest.mark.parametrize("shape", [(0, 3), (0, 1), (3, 0), (0, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
def test_arrays_without_elements_are_written(tmp_path: Path, shape: tuple[int, int], dtype: type) -> None:
    write(tmp_path / "a.mtx", np.ones(shape, dtype), comment="of nothing")
    back = read(tmp_path / "a.mtx")
    assert back.shape == shape
    assert back.dtype == dtype


def test_scipy_reads_what_is_written(tmp_path: Path) -> None:
    dense = np.round(np.random.default_rng(0).standard_normal((5, 7)), 1)
    write(tmp_path / "a.mtx", tensor(dense, "CSC"))
    assert np.array_equal(scipy.io.mmread(tmp_path / "a.mtx").toarray(), dense)
    write(tmp_path / "b.mtx", dense)
    assert np.array_equal(scipy.io.mmread(tmp_path / "b.mtx"), dense)
    write(tmp_path / "c.mtx", sp.csr_array(dense))
    assert np.array_equal(scipy.io.mmread(tmp_path / "c.mtx").toarray(), dense)


def test_text_as_written(tmp_path: Path) -> None:
    write(tmp_path / "a.ttx", tensor([[[0.0, 0.1]], [[2.0, 0.0]]]), comment="made by hand")
    assert (tmp_path / "a.ttx").read_text() == f"{TTX}%made by hand\n%\n2 1 2 2\n1 1 2 0.1\n2 1 1 2.0\n"
    write(tmp_path / "a.tns", tensor([[0, 1], [2, 0]]))
    assert (tmp_path / "a.tns").read_text() == "# shape: 2 2\n1 2 1\n2 1 2\n"
    write(tmp_path / "y.ttx", np.array([0.5, 0.25]))
    assert (tmp_path / "y.ttx").read_text() == "%%MatrixMarket tensor array real general\n%\n2\n0.5\n0.25\n"
    write(tmp_path / "s.ttx", 2.5)
    assert read(tmp_path / "s.ttx").tolist() == [2.5]
    write(tmp_path / "v.mtx", tensor([0.0, 3.0]))
    assert read(tmp_path / "v.mtx").to_numpy().tolist() == [[0], [3]]


def test_stored_zeros_and_small_types(tmp_path: Path) -> None:
    write(tmp_path / "a.mtx", tensor(([[0], [1]], [0.0]), shape=(2, 2)))
    assert read(tmp_path / "a.mtx").nse == 1
    for dtype in ("bf16", "f16", "i8"):
        write(tmp_path / "a.ttx", tensor([1.5, 0, 2.5] if dtype != "i8" else [1, 0, -2], dtype=dtype))
        assert read(tmp_path / "a.ttx", dtype=dtype).dtype.itemsize <= 2


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"expected a matrix for .*a\.mtx, but got a tensor of rank 3: write a \.ttx"
    ):
        write(tmp_path / "a.mtx", np.zeros((2, 2, 2)))
    with pytest.raises(UnsupportedError, match=r"expected real values for .*a\.tns, .*: write a \.ttx"):
        write(tmp_path / "a.tns", np.array([1j]))
    with pytest.raises(
        UnsupportedError, match=r"expected a name that ends in \.mtx, \.ttx, \.tns .*, but got .*a\.csv"
    ):
        write(tmp_path / "a.csv", np.zeros(2))
    with pytest.raises(OperandError, match=r"expected a tensor to write to .*, but got None"):
        write(tmp_path / "a.mtx", None)
    with pytest.raises(DTypeError):
        write(tmp_path / "a.mtx", np.zeros((2, 2), "M8[s]"))
    write(tmp_path / "a.tns", np.eye(2))
    with pytest.raises(RankError, match=r"expected a shape of rank 2, as its lines have, but got \(1, 2, 3\)"):
        read(tmp_path / "a.tns", shape=(1, 2, 3))
    assert os.listdir(tmp_path) == ["a.tns"]


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    write(path, np.eye(2))
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space"):
        write(path, np.zeros((2, 2)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.mtx"]


def test_links_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.mtx", np.eye(2))
    (tmp_path / "b.mtx").symlink_to(tmp_path / "a.mtx")
    write(tmp_path / "b.mtx", np.zeros((1, 1)))
    assert (tmp_path / "b.mtx").is_symlink()
    assert read(tmp_path / "a.mtx").shape == (1, 1)
