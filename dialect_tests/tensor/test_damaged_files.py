"""Bits that flip in files: what has checksums is refused wherever they flip, whole or in parts, in any order."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.files.block_checksums import BLOCK, block_checksums

sparse = pytest.importorskip("scipy.sparse")

SPMV = "y(i) = A(i,j) * x(j)"


def _dense(large: bool) -> np.ndarray:
    random = np.random.default_rng(3)
    shape = (600, 400) if large else (40, 30)
    return np.where(random.random(shape) < 0.25, random.random(shape), 0)


def _written(path: Path, dense: np.ndarray, writer: str) -> None:
    if writer == "scipy":
        sparse.save_npz(path, sparse.csr_array(dense), compressed=False)
    else:
        ms.write(path, ms.tensor(dense, writer))


def _in_parts(path: Path) -> np.ndarray:
    """Returns a file's tensor by parts out of order, each read by a copy of the source, as workers do."""
    source = ms.source(path)
    extent, unit = source.shape[source.axis], source.unit
    bounds = [0, *(extent // part // unit * unit for part in (7, 3, 2)), extent]
    order = [2, 0, 3, 1]
    parts = {n: pickle.loads(pickle.dumps(source)).read(bounds[n], bounds[n + 1]).to_numpy() for n in order}
    return np.concatenate([parts[n] for n in sorted(parts)], source.axis)


def _streamed(path: Path) -> np.ndarray:
    source = ms.source(path)
    return np.asarray(ms.stream(SPMV, A=source, x=np.arange(1.0, source.shape[1] + 1), memory="400KiB"))


def _on_dask(path: Path) -> np.ndarray:
    pytest.importorskip("dask.array")
    import mlir_sparse.dask as msd

    source = ms.source(path)
    middle = source.shape[source.axis] // 3 // source.unit * source.unit
    A = msd.from_source(source, cuts=[0, middle, source.shape[source.axis]])
    found = ms.evaluate(SPMV, A=A, x=np.arange(1.0, source.shape[1] + 1))
    return np.asarray(found.compute(scheduler="sync"))


def _whole(path: Path) -> np.ndarray:
    return np.asarray(ms.read(path).to_numpy())


@pytest.mark.parametrize("read", [_whole, _in_parts, _streamed, _on_dask])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("writer", ["scipy", "CSR", "CSC", "DCSR", "BSR(2, 5)"])
def test_no_flipped_bit_of_npz_gives_other_numbers(
    writer: str, large: bool, read: Callable[[Path], np.ndarray], tmp_path: Path
) -> None:
    path = tmp_path / "a.npz"
    _written(path, _dense(large), writer)
    given, wanted, random = path.read_bytes(), read(path), np.random.default_rng(11)
    refused = 0
    for bit in random.integers(8 * len(given), size=40):
        damaged = bytearray(given)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            found = read(path)
        except (ms.SparseError, OSError):
            refused += 1
        else:  # in what nobody reads, such as a date
            np.testing.assert_array_equal(found, wanted, err_msg=f"bit {bit}")
    assert refused >= 20


@pytest.mark.parametrize("writer", ["scipy", "CSR"])
def test_every_part_that_a_flipped_bit_lies_in_is_refused(writer: str, tmp_path: Path) -> None:
    path, dense = tmp_path / "a.npz", _dense(True)
    _written(path, dense, writer)
    given = bytearray(path.read_bytes())
    values = ms.read(path).storage.values.tobytes()
    given[given.index(values) + 8 * 300] ^= 1  # in the third row or so, in the first block
    path.write_bytes(given)
    source = ms.source(path)
    with pytest.raises(ms.FileFormatError, match=r"a\.npz, rows 0 to 10: .*data\.npy.*checksum: the file is damaged"):
        source.read(0, 10)
    if writer == "CSR":  # its blocks have checksums, so that others are read
        np.testing.assert_array_equal(source.read(590, 600).to_numpy(), dense[590:])
    else:
        with pytest.raises(ms.FileFormatError, match="checksum"):
            source.read(590, 600)
        unchecked = ms.source(path, checksums=False)
        np.testing.assert_array_equal(unchecked.read(590, 600).to_numpy(), dense[590:])
        assert not np.array_equal(unchecked.read(0, 10).to_numpy(), dense[:10])


def test_ranges_of_a_statement_are_checked(tmp_path: Path) -> None:
    path, dense = tmp_path / "a.npz", _dense(True)
    for writer in ("scipy", "CSR"):
        _written(path, dense, writer)
        given = bytearray(path.read_bytes())
        given[given.index(ms.read(path).storage.values.tobytes()) + 8 * 300] ^= 1
        path.write_bytes(given)
        with pytest.raises(ms.FileFormatError, match="checksum"):
            ms.stream("y(i) = A(i,j) * x(j) where i in 0:20", A=ms.source(path), x=np.ones(400), memory="1GiB")


def test_checksums_of_what_was_there_before_are_left_alone(tmp_path: Path) -> None:
    path, dense = tmp_path / "a.npz", _dense(True)
    ms.write(path, ms.tensor(dense))
    arrays = dict(np.load(path))
    assert {"data_crc32", "indices_crc32"} <= set(arrays)
    np.savez(path, **{**arrays, "data": 2 * arrays["data"]})
    np.testing.assert_array_equal(_in_parts(path), 2 * dense)
    np.testing.assert_array_equal(sparse.load_npz(path).toarray(), 2 * dense)


def test_a_file_that_is_written_anew_is_checked_anew(tmp_path: Path) -> None:
    path, dense = tmp_path / "a.npz", _dense(True)
    for factor in (1, 3):
        _written(path, factor * dense, "scipy")
        np.testing.assert_array_equal(_in_parts(path), factor * dense)


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_checksums_of_blocks_do_not_depend_on_how_the_bytes_come(size: int) -> None:
    import zlib

    data = np.random.default_rng(1).bytes(size)
    wanted = [zlib.crc32(data[at : at + BLOCK]) for at in range(0, size, BLOCK)]
    for cut in (0, size // 3, size):
        assert block_checksums([data[:cut], b"", data[cut:]]).tolist() == wanted


@pytest.mark.parametrize(("option", "value"), [("checksums", False), ("along", 1), ("columns", ["a"])])
def test_a_source_is_not_told_anew_what_it_is(option: str, value: Any) -> None:
    given = ms.source(ms.tensor(np.eye(3)))
    with pytest.raises(ms.OperandError, match=f"{option}="):
        ms.source(given, **{option: value})


@pytest.mark.parametrize("name", ["a.npz", "a.h5", "a.mtx"])
def test_sources_are_read_from_another_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, dense: np.ndarray) -> None:
        if path.suffix != ".h5":
            ms.write(path, ms.tensor(dense))
            return
        matrix = sparse.csr_array(dense)
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": dense.shape})
            file.update({"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr})

    (tmp_path / "other").mkdir()
    write(tmp_path / name, np.eye(6))
    write(tmp_path / "other" / name, 2 * np.eye(6))
    monkeypatch.chdir(tmp_path)
    source = ms.source(name)
    monkeypatch.chdir(tmp_path / "other")  # where a file of the same name lies
    np.testing.assert_array_equal(source.read(2, 4).to_numpy(), np.eye(6)[2:4])


def test_checksums_are_of_npz_files(tmp_path: Path) -> None:
    ms.write(tmp_path / "a.mtx", ms.tensor(np.eye(3)))
    with pytest.raises(ms.OperandError, match=r"checksums= for \.npz files only"):
        ms.source(tmp_path / "a.mtx", checksums=False)


def _parquet(path: Path, dense: np.ndarray, **options: Any) -> Any:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, columns = np.nonzero(dense)
    table = arrow.table({"i": rows, "j": columns, "v": dense[rows, columns]})
    table = table.replace_schema_metadata({"shape": json.dumps(dense.shape)})
    parquet.write_table(table, path, row_group_size=100, **options)
    return parquet


def test_checksums_of_parquet_pages_are_compared(tmp_path: Path) -> None:
    path, dense = tmp_path / "a.parquet", _dense(False)
    _parquet(path, dense, write_page_checksum=True, compression="none", use_dictionary=False)
    given = bytearray(path.read_bytes())
    given[given.index(dense[dense != 0][:90].tobytes()) + 333] ^= 2
    path.write_bytes(given)
    for read in (_whole, _in_parts, _streamed, _on_dask):
        with pytest.raises(ms.FileFormatError, match=r"a\.parquet"):
            read(path)


def test_parquet_rows_outside_of_what_their_head_says_are_refused(tmp_path: Path) -> None:
    path, dense = tmp_path / "a.parquet", _dense(False)
    parquet = _parquet(path, dense)
    told = parquet.ParquetFile(path).metadata.row_group(1).column(0).statistics
    low, high = (np.int64(bound).tobytes() for bound in (told.min, told.max))
    given = path.read_bytes()
    foot = len(given) - 8 - int.from_bytes(given[-8:-4], "little")
    for bound, other in ((low, told.min + 1), (high, told.max - 1)):
        at = given.index(bound, foot + given[foot:].index(low))
        path.write_bytes(given[:at] + np.int64(other).tobytes() + given[at + 8 :])
        if parquet.ParquetFile(path).metadata.row_group(1).column(0).statistics.min == told.min and bound == low:
            continue  # another group's
        for read in (_whole, _in_parts):
            with pytest.raises(ms.FileFormatError, match=r"by its head.*damaged"):
                read(path)


def test_parquet_columns_of_another_type_in_one_group_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _parquet(path, _dense(False))
    given, head = path.read_bytes(), b"\x1c\x15\x04\x19"  # of a column of a group: its type, INT64, and encodings
    at = given.index(head, given.index(head) + 1) + 2
    path.write_bytes(given[:at] + bytes([given[at] ^ 16]) + given[at + 1 :])
    with pytest.raises(ms.FileFormatError, match=r"a\.parquet: expected a column of INT64, but got one of"):
        ms.read(path)  # Arrow ends the process where it is asked for statistics of them


@pytest.mark.parametrize("version", [2, 3])
def test_damaged_chunks_of_zarr_are_refused_by_name(version: int, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    path, matrix = tmp_path / "a.zarr", sparse.csr_array(_dense(False))
    group = zarr.open_group(path, mode="w", zarr_format=version)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(matrix.shape)})
    for name in ("data", "indices", "indptr"):
        group.create_array(name, data=getattr(matrix, name))
    (chunk,) = [one for one in (path / "data").rglob("*") if one.is_file() and one.name in ("0",)]
    chunk.write_bytes(chunk.read_bytes()[:40])
    for read in (_whole, _in_parts, _streamed, _on_dask):
        with pytest.raises(ms.FileFormatError, match=r"a\.zarr"):
            read(path)


def test_rows_of_parquet_that_crowd_in_a_part_are_read(tmp_path: Path) -> None:
    """A part has many more rows than its share of the groups that meet it, which is what memory is taken for."""
    dense = np.zeros((400, 8))
    dense[200:210], dense[0, 0], dense[399, 7] = np.arange(1, 81).reshape(10, 8), 1, 2
    _parquet(tmp_path / "a.parquet", dense)
    source = ms.source(tmp_path / "a.parquet")
    for low, high in ((0, 1), (198, 212), (205, 206), (210, 400), (0, 400), (7, 7)):
        np.testing.assert_array_equal(source.read(low, high).to_numpy(), dense[low:high])
