"""The documentation's pages that are made by running: what is on them, and that they are whole."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from html import unescape
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialect_tests.processes import python_of_forks
from mlir_sparse.encoding import PRESETS, LevelFormat, encoding
from mlir_sparse.strategies import STRATEGIES

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
PAGES = (
    "user_modules",
    "exploring",
    "statement_plans",
    "gradients",
    "graphblas",
    "neighbours",
    "wants",
    "pictures",
    "level_formats",
    "level_space",
)
# Storage that MLIR has no text for, by hand; the row and column blocks it has text for, but no loops.
FOREIGN = {
    "SlotELL", "CountedELL", "DIA", "Banded", "PackedLower", "PackedUpper", "Skyline", "UpperSkyline", "RowIntervals",
    "HashVector", "HashedRows",
}  # fmt: skip
REWRITTEN = {"RowBlocked", "ColumnBlocked", *FOREIGN}


def doc_page(name: str) -> Any:
    """Returns a module of the scripts that make pages."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module(f"doc_pages.{name}")
    finally:
        sys.path.remove(str(SCRIPTS))


class Checker(HTMLParser):
    """Holds every end against its beginning, and collects what is linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self._collect(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._collect(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def _collect(self, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            (self.ids if key == "id" else self.links if key in ("href", "xlink:href") else []).append(value or "")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All pages but the guide and the architecture, which take pdoc."""
    folder = tmp_path_factory.mktemp("docs")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SCRIPTS), os.environ.get("PYTHONPATH", "")])}
    command = [python_of_forks(), "-m", "doc_pages", str(folder), *PAGES]
    subprocess.run(command, check=True, env=environment)
    return {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in PAGES}


def _sections(page: str) -> dict[str, str]:
    heads = list(re.finditer(r'<h2 id="([^"]*)">', page))
    ends = [*(head.start() for head in heads[1:]), len(page)]
    return {head[1]: page[head.end() : end] for head, end in zip(heads, ends, strict=True)}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_whole(pages: dict[str, str], name: str) -> None:
    checker = Checker()
    checker.feed(pages[name])
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    inside = {link[1:] for link in checker.links if link.startswith("#")}
    assert inside <= set(checker.ids)
    beside = {link.split("#")[0] for link in checker.links if link.partition("#")[0].endswith(".html")}
    assert beside == {"mlir_sparse.html", "guide.html", "architecture.html", *(f"{page}.html" for page in PAGES)} - {""}


def test_every_preset_is_pictured(pages: dict[str, str]) -> None:
    sections = _sections(pages["pictures"])
    assert list(sections) == list(PRESETS)
    for name, section in sections.items():
        assert section.count("<svg ") >= 1, name
        assert "values" in section, name
    assert "batch i = 1" in sections["BatchedCSR"]


def test_every_preset_has_a_spy_plot(pages: dict[str, str]) -> None:
    assert {name for name, section in _sections(pages["pictures"]).items() if section.count("<svg ") != 2} == set()


def test_what_is_rewritten_is_shown(pages: dict[str, str]) -> None:
    sections = _sections(pages["level_space"])
    assert set(sections) == REWRITTEN
    for name, section in sections.items():
        refused = "refuses it" in section
        assert refused is (name in FOREIGN), name
        assert str(encoding(name)).replace(">", "&gt;").replace("<", "&lt;") in section.replace(" * 3)", ")"), name
        assert "is A over its levels" in section, name
        assert "linalg.generic {indexing_maps" in section, name
        assert "y = " in section, name
    assert "level 1 (i : range): the dialect has no level format range" in sections["DIA"]
    assert "A.levels(A.l0,i) * x(A.l0 + i)" in sections["DIA"]


def test_plans_are_walked_through(pages: dict[str, str]) -> None:
    page = pages["statement_plans"]
    assert "rewritten: y(j) = sum(i : beta * A(i,j) * y.part(i))" in page
    assert "with y.part(i) = sum(k : A(i,k) * x(k))" in page
    assert "rewritten: s = sum(" in page
    assert page.count("mask in the product") + page.count("equal parts once") > 0
    assert page.count("<pre>True</pre>") == 2
    assert "<pre>False True</pre>" in page
    assert page.count("<rect ") == 4
    kept, lost = map(float, re.findall(r"<pre>(\S+) (\S+)</pre>", page)[-2])
    assert 0 < kept < 1e-19
    assert abs(lost - kept) > kept


def test_modules_of_ones_own_are_run(pages: dict[str, str]) -> None:
    page = unescape(pages["user_modules"])
    assert "<function spmv(A: tensor<?x?xf64, #sparse_tensor.encoding" in page
    assert "[ 2.5 -1.   4.5]" in page
    assert "True [3.5 0.  5.5]" in page
    assert "expected A stored as" in page
    assert "verify  passed: 3 values against NumPy" in page
    assert page.count("---- Sparse Tensor ----\nnse = 4\ndim = ( 3, 4 )") == 2
    assert "spmv.mlir:4:8: expected its assertions to hold, but got one that failed: dimension #0 of" in page
    assert "sparsification-and-bufferization: " in page
    assert "scf.for" in page
    assert "func.func @spmv\ngpu.memcpy async" in page
    assert "gpu.launch_func async @sparse_kernels::@kernel0" in page
    assert 'func.func @total\nkept_on_host = "its iterations add to one sum"}' in page
    assert ".target sm_90\n.visible .entry kernel0(" in page
    assert "wrong.mlir:2:53: error: failed to infer lvlToDim from dimToLvl" in page
    assert "as expected" in page
    assert "[[ 0.   2.5  0.   0. ]\n [-5.   0.   0.   0. ]\n [ 0.   0.  36.   4.5]]" in page
    assert "[6.5 3.  8.5]" in page
    assert 'old.mlir:2: `dimLevelType = [ "dense", "compressed" ]` -> `map = (i, j)' in page
    assert "%0 = sparse_tensor.positions %A { level = 1 : index }" in page
    assert "Traceback" not in page


def test_passes_are_explored(pages: dict[str, str]) -> None:
    page = unescape(pages["exploring"])
    for name, passes in (("spmv", r"\d\d"), ("module", r"\d\d"), ("loops", "3"), ("gpu", r"\d\d")):
        assert re.search(rf"wrote {name}\.html: {passes} passes, [\d,]+ bytes", page), name
    assert re.search(r"\d\d modules; the second is that after linalg-generalize-named-ops", page)
    assert "+++ linalg-generalize-named-ops" in page
    assert re.search(r"but the compiler was killed by SIG\w+\n +kernel: added\.mlir\n +reproduce: ", page)
    assert "status 1" in page
    assert page.count('<img src="data:image/webp;base64,UklG') == 4
    assert "Traceback" not in page


def test_gradients_are_computed(pages: dict[str, str]) -> None:
    page = unescape(pages["gradients"])
    assert "dA(i,j) = dY(i,k) * B(j,k) if A(i,j)\ndB(j,k) = dY(i,k) * A(i,j)" in page
    assert "at_X(i,m) = 1 if I(i) == m" in page
    assert "[[1. 1.]\n [0. 0.]\n [2. 2.]]" in page
    assert "[[0. 5.]\n [7. 0.]]" in page
    if find_spec("torch"):
        assert "torch.sparse_csr [7.0, 5.0] [[3.0, 3.0], [2.0, 2.0]]" in page
        assert "entries=2, bias=True) [2.0, 3.0]" in page
    if find_spec("jax"):
        assert "Array([1., 1.], dtype=float32), Array([3., 2.], dtype=float32)" in page


def test_each_operation_of_graphblas_is_numpys(pages: dict[str, str]) -> None:
    """All operations of the C API are there, and each row gives what NumPy does, from other storage too."""
    graphblas = doc_page("graphblas")
    named = {row.operation.partition(",")[0] for row in graphblas.ROWS}
    assert named >= {"mxm", "vxm", "mxv", "eWiseAdd", "eWiseMult", "extract", "assign", "apply", "select", "reduce"}
    assert named >= {"transpose", "kronecker", "build", "extractTuples"}
    for storage in ("COO", "DCSR"):  # in the order of rows, as entries are listed
        names = graphblas.given_names()
        names |= {name: names[name].convert(storage) for name in "ABCM"}
        for row in graphblas.ROWS:
            found, expected = (graphblas.value_of(code, names) for code in (row.code, row.expected))
            np.testing.assert_allclose(found, expected, err_msg=f"{row.operation} {storage}")
            assert row.code in unescape(pages["graphblas"])


neighbours = doc_page("neighbours")


@pytest.mark.parametrize("script", neighbours.SCRIPTS, ids=lambda script: script.name)
def test_scripts_print_what_the_page_says(pages: dict[str, str], script: Any) -> None:
    told = script.record.read_text("utf-8")
    assert told.strip() in unescape(pages["neighbours"])
    assert script.path.read_text("utf-8").split('"""\n', 1)[1].strip() in unescape(pages["neighbours"])
    if not script.is_installed:
        pytest.skip(f"expected the package {script.package} (extra {script.extra})")
    assert script.printed() == told


def test_each_neighbour_has_a_script_and_an_extra() -> None:
    extras = tomllib.loads((SCRIPTS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {script.extra for script in neighbours.SCRIPTS} <= set(extras)
    assert sorted(neighbours.FOLDER.glob("*.*")) == sorted(
        path for script in neighbours.SCRIPTS for path in (script.path, script.record)
    )
    assert len(neighbours.SCRIPTS) == 9


def test_a_script_that_fails_or_prints_something_else_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(neighbours, "FOLDER", tmp_path)
    monkeypatch.setattr(neighbours, "SCRIPTS", [neighbours.Script(name, "sys", "test") for name in "abc"])
    for name, text in {"a": "print(1)", "b": "raise ValueError(7)", "c": "print(2)"}.items():
        (tmp_path / f"with_{name}.py").write_text(text)
    assert neighbours.main(["--write", "a", "c"]) == 0
    assert (tmp_path / "with_a.txt").read_text() == "1\n"
    (tmp_path / "with_c.py").write_text("print(3)")
    assert neighbours.main([]) == 1
    printed = capsys.readouterr().out
    assert "ValueError: 7" in printed
    assert "-2\n+3" in printed
    assert neighbours.main(["nobody"]) == 2


def test_each_want_is_answered_or_says_why(pages: dict[str, str]) -> None:
    """The page is not made when a row does not hold."""
    wants = doc_page("wants")
    assert len(wants.ROWS) == 25
    page = unescape(pages["wants"])
    for number, row in enumerate(wants.ROWS, 1):
        assert f"<td>{number}</td><td>{row.want}</td>" in page
        name, _, section = row.page.partition("#")
        if section:
            assert f'id="{section}"' in pages[name.removesuffix(".html")]
    assert page.count("<td>in part: ") == sum(bool(row.why) for row in wants.ROWS)


def test_the_table_of_level_formats_is_printed(pages: dict[str, str]) -> None:
    for level_format in LevelFormat:
        assert pages["level_formats"].count(f"<td><code>{level_format.value}</code></td>") == 2


def test_the_guide_is_the_readme(tmp_path: Path) -> None:
    pytest.importorskip("pdoc", reason="expected pdoc to read Markdown (extra docs)")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SCRIPTS), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-m", "doc_pages", str(tmp_path), "guide"], check=True, env=environment)
    assert "Three kinds of use" in (tmp_path / "guide.html").read_text(encoding="utf-8")


ARCHITECTURE = (SCRIPTS / "doc_pages" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = SCRIPTS.parent / "mlir_sparse"
OF_THE_TOP = ("dialect_tests/", "lit/", "pyproject.toml")


def test_the_architecture_names_every_room() -> None:
    told = set(re.findall(r"\*\*`(\w+)/`\*\*", ARCHITECTURE))
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert told == rooms | {"native"}


def test_the_architecture_names_what_is_there() -> None:
    named = re.findall(r"`([\w/.]+(?:/|\.(?:cpp|py|pyi|toml)))`", ARCHITECTURE)
    assert len(named) > 80
    there = [(PACKAGE.parent if name.startswith(OF_THE_TOP) else PACKAGE) / name for name in named]
    assert [path for path in there if not path.exists()] == []


def test_each_strategy_is_listed_and_placed_where_the_architecture_says() -> None:
    rooms = {name: (PACKAGE / "pipeline" / f"{name}_passes.py").read_text("utf-8") for name in ("sparsifier", "cpu")}
    assert [each.name for each in STRATEGIES if not any(f'"{each.name}"' in text for text in rooms.values())] == []
    listed = (PACKAGE / "strategies" / "__init__.py").read_text("utf-8")
    modules = [path for path in (PACKAGE / "strategies").glob("*.py") if " = Strategy(" in path.read_text("utf-8")]
    assert len(modules) > 10
    assert [path.stem for path in modules if f"strategies.{path.stem} import" not in listed] == []
