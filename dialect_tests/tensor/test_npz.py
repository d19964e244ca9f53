"""`.npz` files: SciPy's are read, ours are read by SciPy where it has the format, and every storage comes back."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms

sparse = pytest.importorskip("scipy.sparse")

DENSE = np.where(np.arange(96).reshape(12, 8) % 5 < 2, np.arange(96.0).reshape(12, 8), 0)
STORAGES = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(2, 4)",
    "DIA",
    "SlotELL",
    "LooseCSR",
    "SoA-COO",
    "Dense",
    "HashedRows",
    "CSB",
]


@pytest.mark.parametrize("dtype", ["f8", "f2", "bf16", "i1", "c8", "bool"])
@pytest.mark.parametrize("storage", STORAGES)
def test_what_is_written_comes_back(storage: str, dtype: str, tmp_path: Path) -> None:
    tensor = ms.tensor(DENSE.astype("f4"), storage).astype(dtype)
    ms.write(tmp_path / "a.npz", tensor)
    back = ms.read(tmp_path / "a.npz")
    assert isinstance(back, ms.SparseTensor)
    assert (back.encoding, back.dtype, back.shape) == (tensor.encoding, tensor.dtype, tensor.shape)
    np.testing.assert_array_equal(back.to_numpy(), tensor.to_numpy())


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_scipy_and_this_read_each_other(format: str, compressed: bool, tmp_path: Path) -> None:
    matrix = sparse.csr_array(DENSE).asformat(format)
    sparse.save_npz(tmp_path / "theirs.npz", matrix, compressed=compressed)
    ours = ms.read(tmp_path / "theirs.npz")
    np.testing.assert_array_equal(ours.to_numpy(), DENSE)
    if format != "dia":
        ms.write(tmp_path / "ours.npz", ours)
        np.testing.assert_array_equal(sparse.load_npz(tmp_path / "ours.npz").toarray(), DENSE)


def test_unsorted_and_repeated_columns_of_scipy_are_read(tmp_path: Path) -> None:
    for kind in (sparse.csr_matrix, sparse.csc_matrix):
        data, columns, starts = np.array([1.0, 2, 3, 4]), np.array([3, 1, 1, 0]), np.array([0, 3, 4, 4, 4])
        matrix = kind((data, columns, starts), shape=(4, 4))
        sparse.save_npz(tmp_path / "a.npz", matrix)
        np.testing.assert_array_equal(ms.read(tmp_path / "a.npz").to_numpy(), matrix.toarray())


def test_batches_slices_and_cubes_come_back(tmp_path: Path) -> None:
    cube = np.stack([DENSE, 2 * DENSE])
    for tensor in (ms.tensor(cube, "BatchedCSR"), ms.tensor(cube, "CSF")):
        ms.write(tmp_path / "a.npz", tensor)
        np.testing.assert_array_equal(ms.read(tmp_path / "a.npz").to_numpy(), cube)
    ms.write(tmp_path / "a.npz", ms.tensor(DENSE).slice(slice(2, 8, 2), slice(1, 5)))
    np.testing.assert_array_equal(ms.read(tmp_path / "a.npz").to_numpy(), DENSE[2:8:2, 1:5])


@pytest.mark.parametrize("missing", ["indices", "indptr", "data", "shape", "format"])
def test_files_without_an_array_are_refused(missing: str, tmp_path: Path) -> None:
    ms.write(tmp_path / "a.npz", ms.tensor(DENSE))
    arrays = dict(np.load(tmp_path / "a.npz"))
    del arrays[missing]
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(ms.FileFormatError, match=r"b\.npz"):
        ms.read(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("name", "array"),
    [("indices", np.array([99])), ("indptr", np.array([0, -1])), ("shape", np.array([2**62, -5])),
     ("format", np.array(b"lil")), ("data", np.array(["text"])), ("shape", np.array(3))],
)  # fmt: skip
def test_files_with_another_array_are_refused(name: str, array: np.ndarray, tmp_path: Path) -> None:
    ms.write(tmp_path / "a.npz", ms.tensor(DENSE))
    np.savez(tmp_path / "b.npz", **{**dict(np.load(tmp_path / "a.npz")), name: array})
    with pytest.raises(ms.FileFormatError):
        ms.read(tmp_path / "b.npz")


def test_objects_in_a_file_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", shape=np.array([{}], dtype=object), format=np.array(b"csr"))
    with pytest.raises(ms.FileFormatError, match="allow_pickle"):
        ms.read(tmp_path / "a.npz")


@pytest.mark.parametrize("storage", ["CSR", "CSC", "DCSR", "BSR(2, 4)"])
@pytest.mark.parametrize("memory", ["16KiB", "64KiB", "1GiB"])
def test_streams_of_damaged_files_are_refused(storage: str, memory: str, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    dense = np.where(random.random((120, 64)) < 0.3, random.random((120, 64)), 0)
    whole, x = tmp_path / "whole.npz", random.random(64)
    ms.write(whole, ms.tensor(dense, storage))
    values = ms.read(whole).storage.values.tobytes()
    given, at = whole.read_bytes(), whole.read_bytes().index(values)
    text = "y(i) = A(i,j) * x(j)"
    np.testing.assert_allclose(ms.stream(text, A=ms.source(whole), x=x, memory=memory), dense @ x)
    for place in (0, 1, len(values) // 2, len(values) - 1):
        damaged = bytearray(given)
        damaged[at + place] ^= 16
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(ms.FileFormatError, match=r"damaged\.npz.*by its checksum"):
            ms.stream(text, A=ms.source(tmp_path / "damaged.npz"), x=x, memory=memory)
        copied = pickle.loads(pickle.dumps(ms.source(tmp_path / "damaged.npz")))  # as a worker has it
        with pytest.raises(ms.FileFormatError, match="by its checksum"):
            copied.read(0, copied.shape[copied.axis])


def test_parts_in_any_order_are_read(tmp_path: Path) -> None:
    ms.write(tmp_path / "a.npz", ms.tensor(DENSE))
    source = ms.source(tmp_path / "a.npz")
    for low, high in ((4, 9), (0, 12), (0, 3), (11, 12), (3, 11), (0, 0), (0, 12)):
        np.testing.assert_array_equal(source.read(low, high).to_numpy(), DENSE[low:high])
