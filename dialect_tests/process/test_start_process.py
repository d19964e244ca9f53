"""Modules that run when something of them is first read, as NumPy does in the compiler's process."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlir_sparse.process.start_process import _Pinned


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Lets `late_package`, with a module in it, be imported late; yields a file to which it writes when it runs."""
    folder, said = tmp_path / "late_package", tmp_path / "said"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        f"with open({str(said)!r}, 'a') as file:\n    file.write('ran\\n')\nnumber = 7\n"
    )
    (folder / "inner.py").write_text("from late_package import number\ntwice = 2 * number\n")
    said.touch()
    places = {"late_package": (str(folder / "__init__.py"), [str(folder)])}
    monkeypatch.setattr(sys, "meta_path", [_Pinned(places, ["late_package"]), *sys.meta_path])
    yield said
    for name in [name for name in sys.modules if name.partition(".")[0] == "late_package"]:
        del sys.modules[name]


def test_it_runs_once_when_something_is_read(runs: Path) -> None:
    package = importlib.import_module("late_package")
    assert importlib.import_module("late_package") is package
    assert package.__name__ == "late_package"
    assert runs.read_text() == ""
    assert package.number == 7
    assert package.__file__.endswith("__init__.py")
    with pytest.raises(AttributeError, match="late_package"):
        _ = package.missing
    assert runs.read_text() == "ran\n"


def test_it_runs_before_what_is_in_it(runs: Path) -> None:
    importlib.import_module("late_package")
    assert importlib.import_module("late_package.inner").twice == 14
    assert runs.read_text() == "ran\n"


def test_names_are_imported_from_it(runs: Path) -> None:
    found: dict[str, object] = {}
    exec("from late_package import number\nimport late_package.inner as inner", found)
    assert found["number"] == 7
    assert importlib.import_module("late_package").inner is found["inner"]
    assert runs.read_text() == "ran\n"


def test_what_is_missing_is_missing(runs: Path) -> None:
    with pytest.raises(ImportError, match="missing"):
        exec("from late_package import missing", {})
    with pytest.raises(ModuleNotFoundError, match=r"late_package\.other"):
        importlib.import_module("late_package.other")


def test_an_error_while_it_runs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("raise ValueError('broken')\n")
    places = {"broken_package": (str(tmp_path / "broken_package.py"), None)}
    monkeypatch.setattr(sys, "meta_path", [_Pinned(places, ["broken_package"]), *sys.meta_path])
    package = importlib.import_module("broken_package")
    monkeypatch.delitem(sys.modules, "broken_package")
    with pytest.raises(ValueError, match="broken"):
        _ = package.number
