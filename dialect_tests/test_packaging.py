"""What pyproject.toml, the pinned versions and the files for GitHub say: of one another, and of the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import numpy
import other_releases
import pin_dependencies
import project_urls
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.markers import Marker

import mlir_sparse

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = [  # name, version, condition and hashes
    (name, version, condition, re.findall(r"--hash=sha256:([0-9a-f]{64})", hashes))
    for name, version, condition, hashes in re.findall(
        r"^([\w.-]+)==([\w.]+)(?: ; (.*?))? \\\n((?: +--hash=.*\n)+)",
        (ROOT / "scripts" / "pinned.txt").read_text(),
        re.MULTILINE,
    )
]
PLATFORMS, PYTHONS = 3, 4
PLACES = [(python, platform) for python in pin_dependencies.PYTHONS for platform in pin_dependencies.PLATFORMS]
DAYS = timedelta(days=90)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _holds(condition: str, place: tuple[str, str]) -> bool:
    """Whether a condition of a requirement holds on a Python and a platform."""
    python, platform = place
    markers = pin_dependencies.PLATFORMS[platform].markers | {"python_version": python}
    return not condition or Marker(condition).evaluate(markers)


def _day(version: str) -> date:
    return date.fromisoformat(f"{version[:4]}-{version[4:6]}-{version[6:]}")


def test_the_bindings_may_be_90_days_newer_than_those_tested() -> None:
    (bindings,) = (one for one in PROJECT["dependencies"] if one.startswith("torch-mlir"))
    (latest,) = re.findall(r"<=(\d{8})$", bindings)
    (tested,) = (version for name, version, _, _ in PINNED if name == "torch-mlir")
    assert _day(latest) - _day(tested) == DAYS


def test_each_dependency_is_pinned_once_for_each_python_and_platform() -> None:
    """With a wheel for each: those of plain Python are the same for several."""
    names = {_plain(name) for name, *_ in PINNED}
    assert {_plain(re.match(r"[\w.-]+", one)[0]) for one in PROJECT["dependencies"]} <= names  # type: ignore[index]
    for name in names:
        entries = [entry for entry in PINNED if _plain(entry[0]) == name]
        assert all(sum(_holds(condition, place) for _, _, condition, _ in entries) == 1 for place in PLACES)
        if name in ("numpy", "ml-dtypes"):
            assert sum(len(hashes) for *_, hashes in entries) == PYTHONS * PLATFORMS


@given(st.lists(st.sampled_from(PLACES), min_size=1, unique=True))
@example(PLACES)
@example(PLACES[:PLATFORMS])
@example(PLACES[PLATFORMS:])
@example(PLACES[1:])
@example(PLACES[1::PLATFORMS])
def test_a_pin_holds_where_its_wheels_were_found(places: list[tuple[str, str]]) -> None:
    condition = pin_dependencies.condition_of(places)
    assert [place for place in PLACES if _holds(condition, place)] == sorted(places, key=PLACES.index)
    assert bool(condition) == (len(places) < len(PLACES))


def test_versions_that_differ_by_python_are_pinned_beside_one_another() -> None:
    """As NumPy's, whose newest release has no wheels for the oldest Python."""
    digests = {place: f"--hash=sha256:{number:064x}" for number, place in enumerate(PLACES)}
    old = {place: digest for place, digest in digests.items() if place[0] == "3.11"}
    new = {place: digest for place, digest in digests.items() if place[0] != "3.11"}
    plain = dict.fromkeys(PLACES, "--hash=sha256:" + "f" * 64)
    text = pin_dependencies.pinned({("b", "2.5"): new, ("b", "2.4"): old, ("a", "1"): plain})
    first, second, third = re.split(r"(?<=[^\\])\n(?=\w)", text)
    assert first == "a==1 \\\n    --hash=sha256:" + "f" * 64
    assert second.startswith('b==2.4 ; python_version == "3.11" \\\n    --hash=sha256:0000')
    assert third.startswith(
        'b==2.5 ; (python_version == "3.12" or python_version == "3.13" or python_version == "3.14") \\'
    )
    assert (second + third).count("--hash") == len(PLACES)


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
    assert other_releases.unbounded(given) == taken


def test_the_oldest_releases_are_the_lower_bounds_of_what_the_package_uses() -> None:
    installed = other_releases.needed(PROJECT, "oldest")
    bounds = dict(re.match(r"([\w.-]+)\S*?>=([\w.]+)", one).groups() for one in installed if ">=" in one)  # type: ignore[union-attr]
    oldest = dict(one.split("==") for one in installed if "==" in one)
    assert {"click", "numpy", "ml_dtypes", "Pygments", "scipy", "dask[array]", "zarr", "h5py", "pyarrow"} <= set(oldest)
    assert {"pytest", "hypothesis", "torch-mlir"} <= set(bounds)  # tools, and releases that do not stay
    for name, version in oldest.items():
        assert any(one.startswith(f"{name}>={version},") for one in (*PROJECT["dependencies"], *_of_extras()))


def _of_extras() -> list[str]:
    return [one for extra in PROJECT["optional-dependencies"].values() for one in extra]


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


def test_releases_name_the_repository_that_builds_them() -> None:
    """No file here knows it. What addresses lead to stands in the checkout; to write them twice changes nothing."""
    text = (ROOT / "pyproject.toml").read_text()
    written = project_urls.with_urls(text, "https://host.example/some-one/mlir_sparse")
    urls = tomllib.loads(written)["project"]["urls"]
    assert urls.pop("Source") == "https://host.example/some-one/mlir_sparse"
    assert urls.pop("Issues") == "https://host.example/some-one/mlir_sparse/issues"
    assert urls.pop("Documentation").endswith("/mlir_sparse#readme")
    assert (ROOT / urls.pop("Changelog").partition("/blob/HEAD/")[2]).is_file()
    assert urls == PROJECT["urls"]
    assert project_urls.with_urls(written, "https://host.example/some-one/mlir_sparse") == written
    rest = tomllib.loads(written)
    rest["project"]["urls"] = PROJECT["urls"]
    assert rest == tomllib.loads(text)
    for wrong in ("", "/", "https://host.example", "github.com/some-one/name", 'https://host.example/a"b/c'):
        with pytest.raises(ValueError, match="expected the address of a repository"):
            project_urls.with_urls(text, wrong)
    with pytest.raises(ValueError, match="expected a table"):
        project_urls.with_urls("[project]\n", "https://host.example/a/b")
    readme = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\((.*?)\)", project_urls.with_links(readme, "https://host.example/a/b"))
    files = [link.removeprefix("https://host.example/a/b/raw/HEAD/") for link in links]
    assert files == re.findall(r"\]\((.*?)\)", readme)
    assert all(link.startswith("https:") for link in links)
    assert any((ROOT / file).is_file() for file in files)
    # In both jobs that build, before they do.
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    step = '      - uses: actions/checkout@v4\n      - run: python3 scripts/project_urls.py "$GITHUB_SERVER_URL/'
    assert workflow.count(step) == workflow.count("actions/checkout") == 2


def test_versions_and_pythons_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in citation
    # By the format's schema this is one word of SPDX, which has no exceptions; GitHub shows no citation of another.
    assert re.findall(r"^license: ([\w.-]+) #", citation, re.MULTILINE) == [PROJECT["license"].split()[0]]
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
