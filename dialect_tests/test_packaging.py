"""What pyproject.toml, the pinned versions and the files for GitHub say: of one another, and of the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import newest_releases
import numpy
import pin_dependencies
import pytest

import mlir_sparse

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "scripts" / "pinned.txt").read_text(), re.MULTILINE))
PLATFORMS, PYTHONS = 3, 4
DAYS = timedelta(days=90)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _day(version: str) -> date:
    return date.fromisoformat(f"{version[:4]}-{version[4:6]}-{version[6:]}")


def test_the_bindings_may_be_90_days_newer_than_those_tested() -> None:
    (bindings,) = (one for one in PROJECT["dependencies"] if one.startswith("torch-mlir"))
    (latest,) = re.findall(r"<=(\d{8})$", bindings)
    assert _day(latest) - _day(PINNED["torch-mlir"]) == DAYS


def test_each_dependency_is_pinned_with_hashes() -> None:
    needed = {_plain(re.match(r"[\w.-]+", one)[0]) for one in PROJECT["dependencies"]}  # type: ignore[index]
    assert needed <= {_plain(name) for name in PINNED}
    text = (ROOT / "scripts" / "pinned.txt").read_text()
    for name in ("numpy", "ml_dtypes"):  # a wheel for each Python and platform
        entry = re.search(rf"^{name}==(?:.*\\\n)+.*", text, re.MULTILINE)
        assert entry is not None
        assert entry[0].count("--hash=sha256:") == PYTHONS * PLATFORMS


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("click>=8.1,<9", "click>=8.1"),
        ("torch-mlir>=20260901,<=20261230", "torch-mlir>=20260901"),
        ("dask[array]>=2025.1,<2028", "dask[array]>=2025.1"),
        ("pybind11>=2.13", "pybind11>=2.13"),
    ],
)
def test_the_newest_releases_are_those_without_an_upper_bound(given: str, taken: str) -> None:
    assert newest_releases.unbounded(given) == taken


def test_what_extras_have_no_wheels_of_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All are asked for together; one by one where that fails; what works one by one, but not together, is said."""

    def wheels(python: str, platform: pin_dependencies.Platform, needed: Iterable[str]) -> object:
        names = sorted(needed)
        if "b" in names and python == "3.14":
            return "no b"
        if names == ["a", "c"] and platform.markers["sys_platform"] == "darwin":
            return "a needs another c"
        return [(name, "1", "") for name in names]

    monkeypatch.setattr(pin_dependencies, "wheels", wheels)
    assert pin_dependencies.check_extras({"one": ["a", "b"], "two": ["a", "c"]}, ["one"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("  2 wheels") == (PYTHONS - 1) * PLATFORMS
    assert printed.count("  b: no b\n") == PLATFORMS
    assert "a:" not in printed
    assert pin_dependencies.check_extras({"one": ["a", "b"], "two": ["a", "c"]}, ["two"]) == 1
    assert "CPython 3.12, macOS arm64:\n  not together: a needs another c" in capsys.readouterr().out
    assert pin_dependencies.check_extras({"one": ["a"]}, []) == 0
    assert pin_dependencies.check_extras({"one": ["a"]}, ["three"]) == 2


def test_what_has_no_wheels_is_left_out_and_said() -> None:
    asked = [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
    left_out = {re.match(r"[\w.-]+", one)[0] for one in asked if "python_version <" in one}  # type: ignore[index]
    assert left_out == {"python-graphblas"}
    (line,) = (one for one in (ROOT / "README.md").read_text().splitlines() if "`scripts/pin --extras`" in one)
    assert all(f"`{name}`" in line for name in left_out)


def test_hints_name_extras_that_exist() -> None:
    """`pip install 'mlir-sparse[gpu]'` works in an environment that has the package, wherever that came from."""
    files = [ROOT / "README.md", *(ROOT / "mlir_sparse").rglob("*.py"), *(ROOT / "scripts" / "doc_pages").rglob("*")]
    texts = [path.read_text() for path in files if path.suffix in (".md", ".py")]
    named = {extra for text in texts for extra in re.findall(r"mlir-sparse\[([\w,-]+)\]", text)}
    assert len(named) >= 4
    assert {one for extra in named for one in extra.split(",")} <= set(PROJECT["optional-dependencies"])


def test_versions_and_pythons_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert mlir_sparse.__version__ == PROJECT["version"]
    told = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}
    builds = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"]
    assert {f"cp{version.replace('.', '')}-*" for version in told} == set(builds)
    assert min(told) == PROJECT["requires-python"].removeprefix(">=")


def test_sources_that_are_not_built_name_the_way_out(tmp_path: Path) -> None:
    """As in the folder of a checkout, where Python finds the sources before the installed package."""
    (tmp_path / "mlir_sparse").symlink_to(Path(mlir_sparse.__file__).parent)
    site = Path(numpy.__file__).parents[1]
    code = f"import sys; sys.path[:] = [{str(tmp_path)!r}, *sys.path, {str(site)!r}]; import mlir_sparse"
    # Without the site module there is no finder of an editable install.
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False, cwd="/")
    assert ran.returncode
    assert "expected the native modules of mlir_sparse, but got sources without them in" in ran.stderr
    assert "start Python in another folder" in ran.stderr
