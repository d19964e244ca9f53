"""Environment variables: what each takes, and that anything else is refused where it is needed, not before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.process import settings
from mlir_sparse.tools.doctor import examine

ALL = [one for one in vars(settings).values() if isinstance(one, settings.Setting)]
WRONG = {
    "MLIR_SPARSE_BINDINGS": ("a-b", "..", "a..b", "/x"),
    "MLIR_SPARSE_CACHE": (),
    "MLIR_SPARSE_COMPILE_MEMORY": ("x", "0", "-1", "1e9", "8G", str(2**63), " 5", "٣", "1_000"),
    "MLIR_SPARSE_COMPILE_TIMEOUT": ("x", "0", "-1", "nan", "inf", "1e300", "1 s"),
    "MLIR_SPARSE_LIBDEVICE": ("/no/such/file", "/"),
    "MLIR_SPARSE_MACHINE": (),  # whether there is such a profile is known where it is looked for
    "MLIR_SPARSE_NUM_THREADS": ("abc", "0", "-3", "2.5", "4 ", "+4", "0x4", "4,2", "9" * 20, str(2**63), "٣"),
    "MLIR_SPARSE_OPTIMIZE": ("on", "AUTO", "1"),
    "MLIR_SPARSE_PROGRESS": ("on", "0", "OFF"),
    "MLIR_SPARSE_PIECE_WORK": ("abc", "0", "-3", "1k", "9" * 20),
    "MLIR_SPARSE_PYTHON": ("/no/such/python", "/"),
    "MLIR_SPARSE_VECTOR_LANES": ("3", "-2", "x", "128", "1"),
}


def test_every_variable_is_known_here_and_to_users() -> None:
    """So that a new one is tested, and told."""
    assert {one.name for one in ALL} == set(WRONG)
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in WRONG)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_what_is_refused(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = next(one for one in ALL if one.name == name)
    monkeypatch.setenv(name, text)
    with pytest.raises(ms.SettingError) as caught:
        _ = setting.value
    assert caught.value.message.startswith(f"expected {setting.rule} in the environment variable {name}, but got ")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MLIR_SPARSE_BINDINGS", "iree.compiler", "iree.compiler"),
        ("MLIR_SPARSE_CACHE", "off", "off"),
        ("MLIR_SPARSE_COMPILE_MEMORY", "1000000", 1_000_000),
        ("MLIR_SPARSE_COMPILE_TIMEOUT", "2.5e-1", 0.25),
        ("MLIR_SPARSE_NUM_THREADS", "007", 7),
        ("MLIR_SPARSE_VECTOR_LANES", "8", 8),
        ("MLIR_SPARSE_VECTOR_LANES", "", None),
        ("MLIR_SPARSE_COMPILE_TIMEOUT", "", 60.0),
    ],
)
def test_what_is_taken(name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, text)
    assert next(one for one in ALL if one.name == name).value == value


@pytest.mark.parametrize("text", WRONG["MLIR_SPARSE_NUM_THREADS"])
def test_native_code_refuses_what_python_does(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", text)
    with pytest.raises(ms.SettingError, match="a whole number of threads above 0"):
        ms.get_num_threads()
    ms.set_num_threads(2)  # which is asked before
    try:
        assert ms.get_num_threads() == 2
    finally:
        ms.set_num_threads(None)


@pytest.mark.parametrize("text", WRONG["MLIR_SPARSE_PIECE_WORK"])
def test_so_it_does_for_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_PIECE_WORK", text)
    _native.set_piece_work(0)
    with pytest.raises(ms.SettingError, match="a whole number of entries above 0"):
        _native.piece_work()
    monkeypatch.setenv("MLIR_SPARSE_PIECE_WORK", "123")
    try:
        assert _native.piece_work() == 123
    finally:
        _native.set_piece_work(0)


@pytest.mark.parametrize(("text", "threads"), [("5", 5), ("00005", 5), ("", None), (str(2**63 - 1), 1024)])
def test_numbers_of_threads(text: str, threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLIR_SPARSE_NUM_THREADS", raising=False)
    default = ms.get_num_threads()
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", text)
    assert ms.get_num_threads() == (threads or default)


def test_a_call_that_cannot_be_done_as_asked_is_an_error_and_the_next_one_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    A = ms.tensor(np.arange(160_000.0).reshape(400, 400) + 1, "CSR")
    x = np.arange(400.0)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    expected = kernel(A, x)
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", "many")
    with pytest.raises(ms.SettingError):
        kernel(A, x)
    monkeypatch.setenv("MLIR_SPARSE_NUM_THREADS", "1")
    np.testing.assert_array_equal(kernel(A, x), expected)


def test_no_variable_breaks_an_import() -> None:
    wrong = {name: texts[0] for name, texts in WRONG.items() if texts}
    program = """
import mlir_sparse as ms
try:
    ms.evaluate("y(i) = x(i) * x(i)", x=[1.0])
except ms.SettingError as error:
    print("refused:", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **wrong},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stdout.startswith("refused: expected "), done.stderr


def test_a_relative_cache_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    program = """
import os, tempfile
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
os.environ["MLIR_SPARSE_CACHE"] = "kernels"
import mlir_sparse as ms
try:
    ms.evaluate("y(i) = x(i) * x(i)", x=[1.0])
except ms.SettingError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.startswith("refused: expected a folder or 'off'"), done.stderr


def test_the_doctor_looks_beside_no_interpreter_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so into the current folder."""
    for name in ("ptxas", "FileCheck"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "")
    assert list(examine())
    assert not (tmp_path / "ran").exists()


def test_a_setting_is_seen_however_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    name = settings.OPTIMIZE.name
    monkeypatch.delenv(name, raising=False)
    for make, found in (
        (lambda: os.environ.update({name: "off"}), "off"),
        (lambda: os.environ.update({name: ""}), "auto"),
        (lambda: os.environb.update({name.encode(): b"algebra"}), "algebra"),
        (lambda: os.environ.pop(name), "auto"),
        (lambda: os.environ.setdefault(name, "off"), "off"),
        (lambda: os.environ.__delitem__(name), "auto"),
    ):
        make()
        assert (settings.OPTIMIZE.value, ms.get_optimize()) == (found, found)
        assert _native.is_set(name) == (name in os.environ and os.environ[name] != "")
    assert not _native.is_set("")
