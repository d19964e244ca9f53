"""Sources that others write: HDF5 and Zarr as Binsparse, AnnData, 10x and MATLAB store them, and Parquet."""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

M, N = 90, 40
_RANDOM = np.random.default_rng(4)
D = np.where(_RANDOM.random((M, N)) < 0.15, _RANDOM.random((M, N)), 0)
x = _RANDOM.random(N)


def _anndata(group: Any, rows: Any) -> None:
    kind = rows.format
    group.attrs["encoding-type"], group.attrs["shape"] = f"{kind}_matrix", rows.shape
    for name in ("data", "indices", "indptr"):
        _add(group, name, getattr(rows, name))


def _add(group: Any, name: str, array: Any) -> None:
    made = group.create_dataset if hasattr(group, "create_dataset") and not hasattr(group, "store") else None
    if made is not None:
        made(name, data=array, chunks=(7,) if array.size > 7 else None, compression="gzip" if array.size > 7 else None)
    else:
        group.create_array(name, data=array, chunks=(7,))


def _h5ad(path: Path) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "a.h5ad", "w") as file:
        _anndata(file.create_group("X"), sp.csr_array(D.astype("f4")))
        _anndata(file.create_group("layers/counts"), sp.csr_array(2 * D))
        file.create_group("obs")["names"] = np.arange(M)
    return {"given": path / "a.h5ad"}


def _layer(path: Path) -> dict[str, Any]:
    return _h5ad(path) | {"group": "/layers/counts"}


def _csc(path: Path) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "a.h5", "w") as file:
        _anndata(file, sp.csc_array(D))
    return {"given": path / "a.h5"}


def _tenx(path: Path) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py")
    columns = sp.csc_array(D)
    with h5py.File(path / "cells.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            _add(group, name, getattr(columns, name).astype("i8" if name != "data" else "f8"))
        group["shape"] = np.array(columns.shape, np.int32)
        group["barcodes"] = np.array([b"A"] * N)
    return {"given": path / "cells.h5"}


def _matlab(path: Path) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py")
    columns = sp.csc_array(D)
    with h5py.File(path / "a.mat", "w", userblock_size=512) as file:
        group = file.create_group("A")
        group.attrs["MATLAB_sparse"] = np.uint64(M)
        group["data"], group["ir"] = columns.data, columns.indices.astype(np.uint64)
        group["jc"] = columns.indptr.astype(np.uint64)
    return {"given": path / "a.mat"}


def _binsparse(kind: str) -> Callable[[Path], dict[str, Any]]:
    def write(path: Path) -> dict[str, Any]:
        h5py = pytest.importorskip("h5py")
        storage = ms.tensor(D, "CSC" if kind.endswith("C") and kind != "COOC" else kind).storage
        head = {"version": "0.1", "format": kind, "shape": [M, N], "data_types": {"values": "float64"}}
        with h5py.File(path / "a.h5", "w") as file:
            file.attrs["binsparse"] = json.dumps({"binsparse": head})
            file["values"] = storage.values.astype(">f8")
            if storage.positions[1] is not None:
                file["pointers_to_1"] = storage.positions[1]
            for level, crd in enumerate(storage.coordinates):
                if crd is not None:
                    file[f"indices_{level}"] = crd
        return {"given": path / "a.h5"}

    return write


def _zarr(path: Path) -> dict[str, Any]:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(path / "a.zarr"), mode="w")
    group.attrs.update({"encoding-type": "csr_matrix", "shape": [M, N]})
    rows = sp.csr_array(D)
    for name in ("data", "indices", "indptr"):
        group.create_array(name, data=getattr(rows, name), chunks=(7,))
    return {"given": path / "a.zarr"}


def _open_zarr(path: Path) -> dict[str, Any]:
    import zarr

    return {"given": zarr.open_group(str(_zarr(path)["given"]), mode="r")}


def _open_hdf5(path: Path) -> dict[str, Any]:
    import h5py

    return {"given": h5py.File(_csc(path)["given"], "r")}


def _parquet(path: Path, rows: np.ndarray | None = None) -> dict[str, Any]:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    entries = sp.coo_array(D)
    order = np.lexsort((entries.col, entries.row)) if rows is None else rows
    table = pa.table({"row": entries.row[order], "col": entries.col[order], "value": entries.data[order]})
    pq.write_table(table.replace_schema_metadata({"shape": json.dumps([M, N])}), path / "a.parquet", row_group_size=20)
    return {"given": path / "a.parquet"}


def _parquet_in_any_order(path: Path) -> dict[str, Any]:
    return _parquet(path, np.random.default_rng(0).permutation(np.count_nonzero(D)))


def _parquet_folder(path: Path) -> dict[str, Any]:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    entries = sp.coo_array(D)
    folder = path / "parts.parquet"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for number in range(3):
        own = slice(number, None, 3)
        table = pa.table(
            {
                "w": entries.data[own],
                "i": entries.row[own],
                "j": entries.col[own],
                "note": ["x"] * entries.row[own].size,
            }
        )
        pq.write_table(table, folder / f"{number}.parquet")
    return {"given": folder, "columns": ["i", "j", "w"], "shape": (M, N)}


WRITERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "AnnData": _h5ad,
    "a layer of AnnData": _layer,
    "AnnData by columns": _csc,
    "10x": _tenx,
    "MATLAB": _matlab,
    **{f"Binsparse {kind}": _binsparse(kind) for kind in ("CSR", "CSC", "DCSR", "COO")},
    "Zarr": _zarr,
    "an open store": _open_zarr,
    "an open file": _open_hdf5,
    "Parquet": _parquet,
    "Parquet in any order": _parquet_in_any_order,
    "a folder of Parquet": _parquet_folder,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_parts_of_what_others_write(writer: str, tmp_path: Path) -> None:
    options = WRITERS[writer](tmp_path)
    given = options.pop("given")
    found = ms.source(given, **options)
    wanted = 2 * D if writer == "a layer of AnnData" else D
    rtol = 1e-6 if writer == "AnnData" else 1e-12
    assert found.shape == (M, N)
    extent = found.shape[found.axis]
    part = found.read(3, extent - 5).to_numpy()
    np.testing.assert_allclose(part, wanted[3:-5] if found.axis == 0 else wanted[:, 3:-5], rtol=rtol)
    y = ms.stream("y(i) = A(i,j) * x(j)", A=found, x=x.astype(part.dtype), memory=9000)
    np.testing.assert_allclose(y, wanted @ x, rtol=max(rtol, 1e-10), atol=1e-6 if rtol > 1e-9 else 0)
    again = pickle.loads(pickle.dumps(found))  # as tasks carry it
    np.testing.assert_allclose(again.read(0, 4).to_numpy(), wanted[:4] if found.axis == 0 else wanted[:, :4], rtol=rtol)
    total = sum(found.nbytes_between(low, low + 10) for low in range(0, extent, 10))
    assert total == pytest.approx(found.nbytes_between(0, extent), rel=0.3)


@pytest.mark.parametrize("writer", ["AnnData by columns", "10x", "Binsparse CSR", "Zarr", "Parquet"])
def test_read_takes_them_whole(writer: str, tmp_path: Path) -> None:
    given = WRITERS[writer](tmp_path)["given"]
    np.testing.assert_allclose(ms.read(given).to_numpy(), D)
    assert ms.read(given, "DCSR", dtype="f32").dtype == np.float32


def test_rows_in_any_order_with_repeated_columns_are_added_up(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["encoding-type"], file.attrs["shape"] = "csr_matrix", (3, 4)
        file["indptr"], file["indices"] = np.array([0, 3, 3, 5]), np.array([2, 0, 2, 3, 1])
        file["data"] = np.arange(1.0, 6.0)
    part = ms.source(tmp_path / "a.h5").read(0, 3)
    assert part.to_numpy().tolist() == [[2, 0, 4, 0], [0, 0, 0, 0], [0, 5, 0, 4]]


def test_files_that_lie_are_named_with_the_part(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = _csc(tmp_path)["given"]
    (tmp_path / "short.h5").write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ms.FileFormatError, match=r"short\.h5"):
        ms.source(tmp_path / "short.h5")
    with h5py.File(path, "a") as file:
        file["indices"][-1] = M + 7
    with pytest.raises(ms.FileFormatError, match=r"a\.h5, dimension 1, 30 to 40: .*coordinates"):
        ms.source(path).read(30, 40)
    with h5py.File(path, "a") as file:
        del file["data"]
        file["data"] = np.ones(5)
    with pytest.raises(ms.FileFormatError, match=r"a\.h5, dimension 1, 30 to 40: expected .* values, but got 0"):
        ms.source(path).read(30, 40)
    with h5py.File(path, "a") as file:
        file.attrs["encoding-type"] = "dataframe"
    with pytest.raises(ms.FileFormatError, match="as Binsparse, AnnData, 10x or MATLAB store it"):
        ms.source(path)
    with pytest.raises(ms.OperandError, match="expected one of its tensors, X and layers/counts, but got group='x'"):
        ms.source(_h5ad(tmp_path)["given"], group="x")
    with pytest.raises(ms.OperandError, match="expected columns= for functions and Parquet"):
        ms.source(path, columns=["a"])


def test_parquet_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    for columns, message in (
        ({"name": ["a"], "value": [1.0]}, "name of string"),
        ({"i": [0, None], "value": [1.0, 2.0]}, "nulls"),
        ({"i": [-1], "value": [1.0]}, "expected coordinates from 0 in i, but got -1"),
        ({"i": [0], "value": ["x"]}, "but got value of string"),
    ):
        pq.write_table(pa.table(columns), path)
        with pytest.raises(ms.FileFormatError, match=message):
            ms.source(path).read(0, 1)
    _parquet(tmp_path)
    with pytest.raises(ms.FileFormatError, match="expected coordinates below 5 in dimension 0, but got"):
        ms.source(path, shape=(5, N))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ms.FileFormatError, match=r"a\.parquet"):
        ms.source(path)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("order", ["in order", "rows only", "late", "any", "twice"])
def test_rows_of_parquet_in_any_order_and_batches_of_any_size(
    rank: int, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    random, shape, kind = np.random.default_rng(3), (200, 30, 5)[:rank], ("u1", "i8", "u8")[rank - 1]
    dense = np.where(random.random(shape) < 0.1, random.integers(1, 9, shape), 0).astype(float)
    places = np.nonzero(dense)
    values = dense[places]
    if order == "rows only":
        chosen = np.lexsort((random.random(values.size), places[0]))
    elif order == "late":  # the last row comes first in the last batch
        chosen = np.r_[: values.size - 5, values.size - 1, values.size - 5 : values.size - 1]
    elif order == "any":
        chosen = random.permutation(values.size)
    else:
        chosen = np.arange(values.size)
    if order == "twice":
        chosen, values = np.repeat(chosen, 2), values / 2
    columns = {f"d{dim}": own[chosen].astype(kind) for dim, own in enumerate(places)}
    table = pa.table({**columns, "v": values[chosen]}).replace_schema_metadata({"shape": json.dumps(shape)})
    rows = importlib.import_module("mlir_sparse.tensor.files.parquet_rows")
    for batch, group in ((7, 60), (1 << 14, 90)):
        monkeypatch.setattr(rows, "_BATCH", batch)
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=group)
        for axis in range(rank):
            source = ms.source(tmp_path / "a.parquet", along=axis)
            extent = shape[axis]
            for low, high in ((0, extent), (0, 0), (extent // 3, extent // 2), (extent - 1, extent)):
                part = source.read(low, high)
                wanted = dense[(slice(None),) * axis + (slice(low, high),)]
                assert part.encoding == source.type.encoding
                np.testing.assert_array_equal(part.to_numpy(), wanted)
                assert part.nse == np.count_nonzero(wanted)
