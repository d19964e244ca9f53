"""Progress is drawn on terminals and in notebooks alone, after a while, and leaves nothing behind on terminals."""

from __future__ import annotations

import io
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.process import progress as module
from mlir_sparse.process.progress import progress
from mlir_sparse.tensor.files.text_stream import opened


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Returns stderr as a terminal, on which progress is drawn at once."""
    stream = _Terminal()
    # pytest sets sys.stderr anew before each test.
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))
    monkeypatch.setattr(module, "_AFTER", 0.01)
    monkeypatch.setattr(module, "_EVERY", 0.01)
    monkeypatch.delenv("MLIR_SPARSE_PROGRESS", raising=False)
    return stream


def _work_until(drawn: Any) -> None:
    for _ in range(1000):
        if drawn():
            return
        time.sleep(0.005)
    raise AssertionError("nothing was drawn")


def test_terminals_show_label_and_fraction_and_end_empty(terminal: _Terminal) -> None:
    with progress("reading a.mtx") as done:
        _work_until(lambda: "reading a.mtx: 0 s" in terminal.getvalue())
        done(0.5)
        _work_until(lambda: "[###############               ]  50%" in terminal.getvalue())
        done(7)  # no more than all
        _work_until(lambda: "] 100%" in terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert not [one for one in threading.enumerate() if one.name == "mlir-sparse-progress"]


def test_what_is_fast_draws_nothing(terminal: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AFTER", 60.0)
    with progress("reading"):
        pass
    assert terminal.getvalue() == ""


def test_the_outermost_block_is_drawn_also_where_it_fails(terminal: _Terminal) -> None:
    with pytest.raises(ZeroDivisionError), progress("tuning"), progress("compiling"):  # noqa: PT012
        _work_until(lambda: "tuning" in terminal.getvalue())
        _ = 1 / 0
    assert "compiling" not in terminal.getvalue()
    with progress("compiling"):
        _work_until(lambda: "compiling" in terminal.getvalue())


def test_a_terminal_that_goes_away_is_no_error(terminal: _Terminal) -> None:
    with progress("reading"):
        _work_until(terminal.getvalue)
        terminal.close()


@pytest.mark.parametrize("where", ["a file", "closed", "off"])
def test_nothing_is_drawn_elsewhere(where: str, terminal: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    stream: Any = {"a file": io.StringIO(), "closed": None, "off": terminal}[where]
    monkeypatch.setattr(module.sys, "stderr", stream)
    if where == "off":
        monkeypatch.setenv("MLIR_SPARSE_PROGRESS", "off")
    before = threading.active_count()
    with progress("reading"):
        time.sleep(0.05)
        assert threading.active_count() == before
    assert not stream or stream.getvalue() == ""


def test_notebooks_show_it_in_the_cell(terminal: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data["text/plain"])

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(data["text/plain"])
        return Handle()

    shell = SimpleNamespace(kernel=object())
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    with progress("converting") as done:
        done(0.25)
        _work_until(lambda: len(shown) > 1)
    assert shown[0].startswith("converting: [#######")
    assert shown[-1].startswith("converting: 0.")
    assert terminal.getvalue() == ""


def test_who_waits_is_told(terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Reading, writing, converting, storing many entries, compiling and tuning are blocks that draw."""
    labels: list[str] = []
    monkeypatch.setattr(module, "_canvas", lambda: SimpleNamespace(draw=labels.append, end=labels.append))
    monkeypatch.setattr(module._Watcher, "_watch", lambda watcher: labels.append(watcher._label))
    A = ms.tensor(np.eye(3))
    ms.write(tmp_path / "a.mtx", A)
    ms.read(tmp_path / "a.mtx")
    A.convert("DCSC")
    A.convert("BSR(3, 3)")
    ms.tune("y(i) = A(i,j) * x(j)", A, np.ones(3), budget=0.01, fresh=True)
    kernel = ms.compile("y(i) = A(i,j) * 7.25 * x(j)", A=A, x=np.ones(3), optimize="off")
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    assert "llvm.func" in kernel.ir("llvm")
    ms.tensor((np.zeros((2, 1), int), np.ones(1)), "CSR", shape=(2, 2))
    few = len(labels)
    monkeypatch.setattr(module, "_MANY", 2)
    ms.tensor((np.arange(6).reshape(2, 3), np.ones(3)), "CSC", shape=(9, 9))
    ms.tensor(np.eye(3))
    A.convert("DCSC")
    assert labels[few:] == ["storing entries as CSC", "storing an array of shape (3, 3)", "converting to DCSC"]
    assert "writing a.mtx" in labels
    assert [one for one in labels if one.startswith("reading a.mtx")]
    assert "converting to BSR(3, 3)" in labels
    assert "converting to DCSC" not in labels[:few]
    assert "tuning y(i) = A(i,j) * x(j)" in labels
    assert "compiling" in labels


@pytest.mark.parametrize("ending", ["mtx", "mtx.gz", "tns"])
def test_reading_tells_the_fraction_of_the_file(tmp_path: Any, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    places = np.arange(600_000)
    ms.write(path, ms.tensor((np.stack([places, places]), np.full(600_000, 0.1234567)), "COO"))
    told: list[float] = []
    with opened(str(path), told.append) as stream:
        stream.blocks(lambda block: (len(block), 0))
    assert len(told) > 2
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] == 1
    assert ms.read(path).nse == 600_000
