"""Saved kernels that are broken in every way: each is loaded or refused by name."""

from __future__ import annotations

import importlib
import json
import os
import random
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.errors import FileFormatError, SparseError, UnsupportedError


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "k.msk"
    ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").save(path)
    return path


def load(path: Path) -> None:
    """Loads a file, or sees that it is refused, and in few words."""
    said = ""
    try:
        ms.load(path)
    except SparseError as error:
        said = str(error)
    assert len(said) < 2000


def rewritten(path: Path, to: Path, **changes: bytes) -> Path:
    """Copies an archive with other content under some names."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name.replace(".", "_"), old.read(name)))
    return to


def index_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        found: dict[str, Any] = json.loads(archive.read("kernel.json"))
        return found


def test_damaged_archives_are_refused(saved: Path, tmp_path: Path) -> None:
    whole, path = saved.read_bytes(), tmp_path / "k.msk"
    draw = random.Random(0)
    cases = [b"", b"PK", whole[:-1], whole[: len(whole) // 2], b"\x00" * 1000]
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 3, 30])):
            data[draw.randrange(len(data))] = draw.randrange(256)
        cases.append(bytes(data))
    for data in cases:
        path.write_bytes(data)
        load(path)


WRONG = [None, [], {}, "", "x", -1, 1.5, True, [[]], [None], {"a": 1}, "9" * 5000, ["x"], [["Loops"]], "\ud800"]


def test_wrong_indexes_are_refused(saved: Path, tmp_path: Path) -> None:
    index = index_of(saved)
    for key in index:
        for wrong in WRONG:
            changed = json.dumps({**index, key: wrong}).encode()
            if changed == json.dumps(index).encode():
                continue
            with pytest.raises((FileFormatError, UnsupportedError), match=r"expected .*, but got "):
                ms.load(rewritten(saved, tmp_path / "k.msk", kernel_json=changed))
        left = {name: value for name, value in index.items() if name != key}
        with pytest.raises(FileFormatError, match=rf'expected .*"{key}".* in .*k.msk, but got '):
            ms.load(rewritten(saved, tmp_path / "k.msk", kernel_json=json.dumps(left).encode()))
    for text in (b"", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b"null", b"[]", b"{}", b'{"format": 6}'):
        with pytest.raises(FileFormatError, match=r"expected .* in .*k.msk, but got "):
            ms.load(rewritten(saved, tmp_path / "k.msk", kernel_json=text))


def test_numbers_that_were_edited_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.msk"
    ms.compile("C(i,j) = A(i,k) * B(k,j)", A="f64[?,?] CSR", B="f64[?,?] CSR", C="f64[?,?] CSR").save(path)
    index = index_of(path)
    steps = index["steps"][0]
    texts = {steps.replace("1", "2", 1), steps.replace('"i"', '"j"', 1), steps.replace("f64", "f32")}
    for text in texts - {steps}:
        changed = json.dumps({**index, "steps": [text, *index["steps"][1:]]}).encode()
        with pytest.raises(FileFormatError, match=r"expected contents with the digest .* in .*e.msk, but got"):
            ms.load(rewritten(path, tmp_path / "e.msk", kernel_json=changed))
    for change in ({"computing": [99]}, {"codes": []}, {"builds": []}):
        changed = json.dumps({**index, **change}).encode()
        with pytest.raises(FileFormatError, match=r'expected .*"codes"|expected lists of one length as .*"builds"'):
            ms.load(rewritten(path, tmp_path / "e.msk", kernel_json=changed))


def test_a_bomb_is_refused(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rewritten(saved, tmp_path / "k.msk", kernel_json=b" " * (70 << 20))
    memory = importlib.import_module("mlir_sparse.process.available_memory")
    monkeypatch.setattr(memory, "available_bytes", lambda: 32 << 20)
    with pytest.raises(ms.SparseError, match=r"expected the kernel in .*k.msk to fit in the 32 MiB"):
        ms.load(path)


def test_threads_save_to_one_file(saved: Path, tmp_path: Path) -> None:
    kernel, path, failures = ms.load(saved), tmp_path / "k.msk", []

    def work() -> None:
        try:
            for _ in range(5):
                kernel.save(path)
                ms.load(path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert os.listdir(tmp_path) == ["k.msk"]
    assert ms.load(path)(ms.tensor(np.eye(3), "CSR"), np.ones(3)).tolist() == [1, 1, 1]


def test_a_saved_kernel_has_the_mode_of_the_umask(saved: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        ms.load(saved).save(tmp_path / "k.msk")
    finally:
        os.umask(before)
    assert os.stat(tmp_path / "k.msk").st_mode & 0o777 == 0o644
