"""Pages of passes: all is there, nothing is of elsewhere, lines are linked, and nobody's text is a tag."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.page_parser import PageParser, parsed, unpacked
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.compile.exploring.mlir_lexer import MlirLexer
from mlir_sparse.compile.exploring.module_sections import module_passes

CSR, VECTOR = "f64[?,?] CSR", "f64[?]"
TIMES = re.compile(r"[\d.]+ m?s\b|width:[\d.]+%")


@pytest.fixture(scope="module")
def spmv() -> Any:
    return ms.compile("y(i) = A(i,j) * x(j)", A=CSR, x=VECTOR)


@pytest.fixture(scope="module")
def page(spmv: Any) -> str:
    return str(spmv.passes().html())


@pytest.fixture(scope="module")
def read(page: str) -> PageParser:
    return parsed(page)


def test_every_pass_is_there(spmv: Any, read: PageParser) -> None:
    names = [snapshot.name for snapshot in spmv.passes()]
    assert [name for name in read.names if name not in ("llvmir", "asm")] == names
    assert read.names[-2:] == ["llvmir", "asm"]


def test_each_stage_shows_the_whole_module_and_what_changed(spmv: Any, read: PageParser) -> None:
    changed, before = [], ""
    for snapshot in spmv.passes():
        if snapshot.text != before:
            changed.append(snapshot.text)
        before = snapshot.text
    assert [f"{text.rstrip()}\n" for text in read.listings[:-2]] == changed
    assert "define " in read.listings[-2]
    assert "ret" in read.listings[-1]


def test_lines_are_linked_with_parts(read: PageParser) -> None:
    numbers = {next(iter(texts)): number for number, texts in read.parts.items()}
    assert set(numbers) == {"y(i)", "=", "A(i,j)", "*", "x(j)", "i", "j"}
    found = {
        part: {line.split(" = ")[-1].split()[0] for linked, line in read.linked if linked == {number}}
        for part, number in numbers.items()
    }
    assert {"arith.mulf", "llvm.fmul"} <= found["*"]
    assert {"arith.addf", "llvm.fadd"} <= found["="]
    assert {"memref.load", "memref.subview", "llvm.getelementptr"} <= found["A(i,j)"]
    assert "memref.store" in found["y(i)"]
    assert any(line.strip().startswith("scf.for") for linked, line in read.linked if linked == {numbers["i"]})


def test_plan_storage_and_remarks_are_there(spmv: Any, read: PageParser) -> None:
    for text in (
        "loops i, j",
        "A.1[compressed]",
        "level 1: j is compressed, ordered, unique",
        "an example: 4 x 6, 7 entries stored",
        *map(str, spmv.remarks()),
        "compiled anew for this page",
        *(line.strip() for line in spmv.explain().splitlines()),
    ):
        assert text in read.text


def test_two_pages_differ_in_times_alone(spmv: Any, page: str) -> None:
    assert TIMES.sub("", spmv.passes().html()) == TIMES.sub("", page)


def test_a_notebook_shows_the_page_in_a_frame(spmv: Any) -> None:
    passes = spmv.passes()
    frame = passes._repr_html_()
    assert frame.startswith('<iframe title="passes" sandbox="allow-scripts" ')
    found = re.search(r' srcdoc="([^"]*)"></iframe>$', frame)
    assert found is not None
    assert TIMES.sub("", unescape(found[1])) == TIMES.sub("", passes.html())
    assert repr(passes) == f"<{len(list(passes))} snapshots of y(i) = A(i,j) * x(j)>"


def test_a_page_is_saved(spmv: Any, tmp_path: Path, page: str) -> None:
    spmv.passes().save(tmp_path / "page.html")
    assert TIMES.sub("", (tmp_path / "page.html").read_text()) == TIMES.sub("", page)
    with pytest.raises(ms.OperandError):
        spmv.passes().save(3)


def test_a_large_kernel_has_a_page_below_2_megabytes() -> None:
    passes = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=CSR, B=CSR, out="CSR").passes()
    found = passes.html()
    assert len(found) < 1_100_000
    assert "lines left as they are" in parsed(found).text


# What pages of other kernels say.
KINDS: dict[str, tuple[str, dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "blocks": ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] BSR(2, 2)", "x": VECTOR}, {}, ("i mod 2 is dense",)),
    "level space": ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] DIA", "x": VECTOR}, {}, ("A.levels(A.l0,i)",)),
    "semiring": (
        "script(i) = style(i,j) * td(j)",
        {"style": CSR, "td": VECTOR},
        {"semiring": "min_plus"},
        ("min(j :",),
    ),
    "no loops": ("a = 2 * b", {"b": "f64[]"}, {}, ("linalg.generic",)),
    "comprehension": (
        "def mv(float(M,K) A, float(K) x) -> (y) { y(i) = 0  y(i) += A(i,k) * x(k) }",
        {},
        {},
        ("2 statements",),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_kernels_of_all_kinds_have_pages(name: str) -> None:
    text, operands, options, said = KINDS[name]
    passes = ms.compile(text, tensors=operands, **options).passes()
    found = parsed(passes.html())
    assert all(part in found.text for part in said)
    names = [snapshot.name for snapshot in passes]
    assert [one for one in found.names if one not in ("llvmir", "asm")] == names
    if name == "blocks":  # each variable has a loop over blocks and one inside of them
        assert {"i", "j"} <= {text for texts in found.parts.values() for text in texts}
    assert found.ids == [f"s{number + 1}" for number in range(len(passes.sections))]


def test_parts_of_a_rewritten_statement_have_a_graph_each() -> None:
    A, x = ms.tensor(np.ones((300, 300))), np.ones(300)
    kernel = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=x)
    page = unpacked(kernel.passes().html())
    assert page.count("class=graph ") == 2
    assert "y.part(j) += A(j,k) * x(k)" in parsed(page).text


def test_a_page_for_a_gpu_ends_in_ptx() -> None:
    passes = ms.compile("y(i) = x(i) * z(i)", z=VECTOR, x=VECTOR, target="cuda:sm_90").passes()
    found = parsed(passes.html())
    assert "for cuda:sm_90" in found.text
    assert found.names[-2:] == ["gpu-to-ptx", "ptx"]
    assert ".target sm_90" in found.listings[-1]


def test_a_page_of_several_kernels_for_a_gpu_is_compressed() -> None:
    passes = ms.compile("y(i) = A(i,j) * x(j)", A=CSR, x=VECTOR, target="cuda:sm_90").passes()
    page = passes.html()
    assert len(page) < 500_000  # of 3.5 million characters
    found = parsed(page)
    names = [snapshot.name for snapshot in passes]
    assert [one for one in found.names if one != "ptx"] == names
    assert ".target sm_90" in found.listings[-1]
    assert "it needs JavaScript" in page
    assert "it needs JavaScript" not in found.text


def test_a_kernel_from_a_file_is_compiled_anew(tmp_path: Path) -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=CSR, x=VECTOR)
    kernel.save(tmp_path / "spmv.msk")
    loaded = ms.load(tmp_path / "spmv.msk").passes()
    assert [one.text for one in loaded] == [one.text for one in kernel.passes()]
    assert "from the cache on disk or from a file" in parsed(loaded.html()).text


# -- modules ---------------------------------------------------------------------------------------------------------

HOSTILE = """module attributes {a.text = "</script><b onclick=x>&amp;</div>"} {
  // </style><script>
  func.func @"<i>"(%x: f64) -> f64 {
    %0 = arith.addf %x, %x : f64
    return %0 : f64
  }
  func.func @other() { return }
}
"""


def test_nobody_s_text_is_a_tag() -> None:
    found = parsed(module_passes(HOSTILE.encode(), '<img src="x">.mlir', ["canonicalize"]).html())
    assert '"</script><b onclick=x>&amp;</div>"' in found.text
    assert '<img src="x">.mlir' in found.text
    assert found.listings[0].rstrip() == HOSTILE.rstrip()
    assert {text.strip() for texts in found.parts.values() for text in texts} >= {"%0 = arith.addf %x, %x : f64"}


def test_a_module_is_linked_line_by_line() -> None:
    found = parsed(ms.module(HOSTILE).passes().html())
    (number,) = [number for number, texts in found.parts.items() if any("arith.addf" in text for text in texts)]
    added = {line.split(" = ")[-1].split()[0] for linked, line in found.linked if linked == {number}}
    assert added == {"arith.addf", "llvm.fadd"}
    assert found.names[-2:] == ["llvmir", "asm"]


def test_bytecode_is_shown_without_links() -> None:
    with mlir_context():
        buffer = io.BytesIO()
        parse_module("func.func @f(%x: f64) -> f64 { return %x : f64 }").operation.write_bytecode(buffer)
    found = parsed(module_passes(buffer.getvalue(), "f.mlirbc", ["canonicalize"]).html())
    assert found.parts == {}
    assert found.listings[0] == found.listings[1]
    assert "lines are not linked with a text" in found.text


def test_an_entry_is_shown_with_what_it_calls() -> None:
    text = "func.func @f() { return } func.func @g() { call @h() : () -> () return } func.func @h() { return }"
    found = module_passes(text.encode(), "calls.mlir", entry="g")
    assert [snapshot.name for snapshot in found[:3]] == ["input", "symbol-privatize", "symbol-dce"]
    assert "@f" not in found[-1].text
    assert "@h" in found[-1].text
    assert "define void @g" in parsed(found.html()).text
    with pytest.raises(ms.ModuleError, match=r"expected a function of calls\.mlir, which has f, g and h, but got 'k'"):
        module_passes(text.encode(), "calls.mlir", entry="k")


def test_passes_in_python_are_refused() -> None:
    @ms.register_pass("page-nothing")
    def nothing(module: Any) -> None:
        """Does nothing."""

    with pytest.raises(ms.ModuleError, match=r"but got 'page-nothing', which is written in Python: ms\.opt runs it"):
        module_passes(HOSTILE.encode(), "x.mlir", ["page-nothing"])


def test_a_crash_is_marked_behind_the_passes_that_ran() -> None:
    path = Path(__file__).resolve().parent.parent / "defects" / "scalar_plus_sparse_segv.mlir"
    passes = module_passes(path.read_bytes(), "segv.mlir")
    assert isinstance(passes.failure, ms.CompilerCrash)
    assert passes.failure.reproducer is not None
    Path(passes.failure.reproducer).unlink()
    found = parsed(passes.html())
    assert found.names[-1] == "sparsification-and-bufferization"
    assert "failed; no pass behind it ran" in found.text
    assert "killed by SIG" in found.text
    assert repr(passes) == "<8 snapshots of segv.mlir, the last pass failed>"


def test_a_pass_that_is_not_for_the_module_fails_by_name() -> None:
    passes = module_passes(HOSTILE.encode(), "x.mlir", ["cse", "gpu-to-ptx"])
    assert [snapshot.name for snapshot in passes] == ["input", "cse"]
    assert isinstance(passes.failure, ms.CompileError)
    assert "expected a gpu.module with kernels in NVVM, but got a module without one" in str(passes.failure)


def test_tokens_of_mlir_are_told_apart() -> None:
    text = (
        '%0:2 = "a.b"(%arg0) {x = -1.5e+00 : f32} : (tensor<4x?xbf16, #CSR>) -> !llvm.ptr // index\n^bb1: call @"f g"'
    )
    found = [(str(kind).removeprefix("Token."), value) for kind, value in MlirLexer().get_tokens(text) if value.strip()]
    for wanted in (
        ("Name.Variable", "%0:2"),
        ("Literal.String", '"a.b"'),
        ("Literal.Number", "-1.5e+00"),
        ("Keyword.Type", "tensor"),
        ("Literal.Number.Integer", "4x?x"),
        ("Keyword.Type", "bf16"),
        ("Name.Constant", "#CSR"),
        ("Keyword.Type", "!llvm.ptr"),
        ("Comment.Single", "// index"),
        ("Name.Label", "^bb1"),
        ("Name.Function", '@"f g"'),
    ):
        assert wanted in found
    assert "".join(value for _, value in MlirLexer(ensurenl=False).get_tokens(text)) == text
    assert not [value for kind, value in found if "Error" in kind]
