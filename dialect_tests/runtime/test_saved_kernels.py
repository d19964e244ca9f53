"""Kernels in files: saved as machine code, loaded where no compiler is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_objects
from mlir_sparse import _native
from mlir_sparse.runtime.saved_index import digest_of

DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
X = np.array([1.0, 10.0, 100.0])

KERNELS: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("y(i) = A(i,j) * x(j)", {"A": ms.tensor(DENSE), "x": X}, None),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": ms.tensor(DENSE), "B": ms.tensor(DENSE, "CSC")}, "COO"),
    ("y(i) = b(i) - A(i,j) * x(j)", {"A": ms.tensor(DENSE, "BSR(2, 2)"), "x": X, "b": X}, None),
    ("y(i) = max(j : A(i,j))", {"A": ms.tensor(DENSE)}, None),
    ("d(i) = A(i,i)", {"A": ms.tensor(DENSE)}, None),
)


def value(result: Any) -> Any:
    return result.to_numpy() if isinstance(result, ms.SparseTensor) else result


@pytest.mark.parametrize(("text", "operands", "out"), KERNELS)
def test_loaded_kernels_give_the_same(text: str, operands: dict[str, Any], out: str | None, tmp_path: Path) -> None:
    kernel = ms.compile(text, out=out, tensors=operands)
    expected = value(kernel(**operands))
    kernel.save(tmp_path / "k.msk")
    loaded = ms.load(tmp_path / "k.msk")
    assert str(loaded.spec) == str(kernel.spec)
    for _ in range(2):
        np.testing.assert_array_equal(value(loaded(**operands)), expected)
    np.testing.assert_array_equal(value(loaded(*(operands[name] for name in loaded.parameters))), expected)


def test_loading_needs_no_mlir(tmp_path: Path) -> None:
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    spmv.save(tmp_path / "spmv.msk")
    program = """
import sys
import numpy as np
for name in ("torch_mlir", "mlir", "mlir_finch"):
    sys.modules[name] = None
import mlir_sparse as ms
from mlir_sparse import plan
def no_plan(*arguments, **named):
    raise AssertionError("planned")
plan.plan = no_plan
spmv = ms.load(sys.argv[1])
print(spmv(ms.tensor(np.array([[0.0, 2.0], [3.0, 0.0]])), np.array([1.0, 10.0])).tolist())
"""
    command = [sys.executable, "-c", program, str(tmp_path / "spmv.msk")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[20.0, 3.0]\n", done.stderr


def test_every_width_called_is_saved(tmp_path: Path) -> None:
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    tensors = [ms.tensor(DENSE, ms.encoding("CSR", pos_width=w, crd_width=w)) for w in (32, 64)]
    for tensor in tensors:
        spmv(tensor, X)
    spmv.save(tmp_path / "k.msk")
    loaded = ms.load(tmp_path / "k.msk")
    for tensor in tensors:
        np.testing.assert_array_equal(loaded(tensor, X), DENSE @ X)
    loaded.save(tmp_path / "again.msk")
    np.testing.assert_array_equal(ms.load(tmp_path / "again.msk")(tensors[0], X), DENSE @ X)


def test_files_that_are_no_kernels(tmp_path: Path) -> None:
    path = tmp_path / "k.msk"
    ms.compile("y(i) = 2 * x(i)", x="f64[?]").save(path)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2], whole[:-10]):
        path.write_bytes(content)
        with pytest.raises(ms.FileFormatError, match=r"expected a kernel written by Kernel\.save"):
            ms.load(path)


def _changed(path: Path, **changes: Any) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    index = json.loads(parts["kernel.json"]) | changes
    index["digest"] = digest_of(index, map(parts.__getitem__, index["codes"]))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, json.dumps(index) if name == "kernel.json" else content)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"features": ["no-such-feature"]}, ms.UnsupportedError, "a processor with no-such-feature"),
        ({"machine": "pdp11"}, ms.UnsupportedError, "but got one for .*/pdp11: save it here"),
        ({"format": 999}, ms.FileFormatError, "expected format 6 .* but got 999"),
        ({"version": "0.0"}, ms.FileFormatError, r"but got one of version 0\.0: save it again"),
        (
            {"steps": ['["NestCall", 1]']},
            ms.FileFormatError,
            "expected the steps of a program, .*: save it again",
        ),
    ],
)
def test_kernels_of_other_machines_and_versions(
    changes: dict[str, Any], error: type[ms.SparseError], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.msk"
    ms.compile("y(i) = 2 * x(i)", x="f64[?]").save(path)
    _changed(path, **changes)
    with pytest.raises(error, match=message):
        ms.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where objects are not loaded natively, a linker makes libraries of them."""
    path = tmp_path / "k.msk"
    path.write_bytes(b"old")
    kernel = ms.compile("y(i) = 2 * x(i)", x="f64[?]")
    kernel(np.ones(2))
    monkeypatch.setattr(_native, "loads_objects", False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ms.UnsupportedError, match="install binutils"):
        kernel.save(path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["k.msk"]


@needs_objects
def test_saving_needs_no_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    ms.compile("y(i) = 3 * x(i)", x="f64[?]").save(tmp_path / "k.msk")
    np.testing.assert_array_equal(ms.load(tmp_path / "k.msk")(np.ones(2)), [3.0, 3.0])


@pytest.mark.skipif(shutil.which("ld") is None, reason="makes libraries, which takes a linker")
def test_libraries_are_loaded_as_objects_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "loads_objects", False)
    path, again, scratch = tmp_path / "k.msk", tmp_path / "again.msk", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    ms.compile("y(i) = 5 * x(i)", x="f64[?]").save(path)
    with zipfile.ZipFile(path) as archive:
        assert "0.so" in archive.namelist()
    loaded = ms.load(path)
    np.testing.assert_array_equal(loaded(np.ones(2)), [5.0, 5.0])
    loaded.save(again)
    np.testing.assert_array_equal(ms.load(again)(np.ones(2)), [5.0, 5.0])
    assert not list(scratch.iterdir())  # processes that are killed would leave what lives as long as they do


def test_code_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.msk"
    ms.compile("y(i) = 2 * x(i)", x="f64[?]").save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content if name == "kernel.json" else content[: len(content) // 2])
    _changed(path)  # signs it
    with pytest.raises(ms.FileFormatError, match=r"expected machine code in .* but got"):
        ms.load(path)


def test_kernels_of_operators_are_saved(tmp_path: Path) -> None:
    """Semirings and operators of the user's own have no notation that parses, but are saved with the kernel."""
    tensor, vector = ms.tensor([[0.0, 3.0], [2.0, 0.0]]), np.array([1.0, 5.0])
    further = ms.operator(lambda a, b: ms.where(a > b, a, b) + 1)
    for options in ({"semiring": "min_plus"}, {"f": further}):
        text = "y(i) = f(A(i,j), x(j))" if "f" in options else "y(i) = A(i,j) * x(j)"
        kernel = ms.compile(text, A=tensor, x=vector, **options)
        wanted = kernel(tensor, vector)
        kernel.save(tmp_path / "kernel.msk")
        np.testing.assert_array_equal(ms.load(tmp_path / "kernel.msk")(tensor, vector), wanted)


def test_loaded_kernels_say_the_same_of_their_loops(tmp_path: Path) -> None:
    kernel = ms.compile("y(i) = sin(A(i,j)) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    kernel.save(tmp_path / "kernel.msk")
    loaded = ms.load(tmp_path / "kernel.msk")
    assert loaded.remarks() == kernel.remarks()
    assert loaded.explain() == kernel.explain()
    assert {remark.strategy for remark in loaded.remarks() if not remark.applied} == {"sum-rows"}
