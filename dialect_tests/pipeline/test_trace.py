"""The module after each pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mlir_sparse as ms
from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.notation.notation_places import NotationPlaces
from mlir_sparse.pipeline.located_text import LocatedText, located_text

DEFECTS = Path(__file__).resolve().parent.parent / "defects"


@pytest.fixture(scope="module")
def trace() -> ms.pipeline.Trace:
    return ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").passes()


def test_a_snapshot_for_each_pass_and_the_input(trace: ms.pipeline.Trace) -> None:
    names = [snapshot.name for snapshot in trace]
    assert names[0] == "input"
    assert "sparsification-and-bufferization" in names
    assert names[-1] == "reconcile-unrealized-casts"
    assert len(trace) == len(names)


def test_the_last_snapshot_is_what_is_compiled(trace: ms.pipeline.Trace) -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    assert trace[0].text == kernel.ir("linalg")
    assert trace[-1].text == kernel.ir("llvm")


def test_a_diff_shows_what_a_pass_did(trace: ms.pipeline.Trace) -> None:
    diff = trace.diff("sparsification")
    assert any(line.startswith("-") and "linalg.generic" in line for line in diff.splitlines())
    assert any(line.startswith("+") and "scf.for" in line for line in diff.splitlines())
    assert trace.diff("expand-realloc") == ""


def test_an_overview_says_why_each_pass_is_there(trace: ms.pipeline.Trace) -> None:
    assert "lower-affine: 0 lines changed; affine.min of the vector loops" in str(trace).splitlines()


def test_an_unknown_pass_is_refused_with_the_names(trace: ms.pipeline.Trace) -> None:
    with pytest.raises(ms.UnsupportedError, match=r"expected a pass of .*lower-affine.*, but got 'nothing'"):
        trace.diff("nothing")


def linked(snapshot: ms.pipeline.Snapshot, text: str) -> dict[str, set[str]]:
    """Returns the operations of a snapshot with the parts of a statement that they come from."""
    found: dict[str, set[str]] = {}
    lines = snapshot.text.splitlines()
    assert len(lines) == len(snapshot.places)
    for line, places in zip(lines, snapshot.places, strict=True):
        words = re.sub(r"^\s*%[^=]* = ", "", line).split()
        parts = {text[place.start - 1 : place.end - 1] for place in places}
        found.setdefault(words[0] if words else "", set()).update(parts - {text})
    return found


def test_lines_are_linked_with_the_statement(trace: ms.pipeline.Trace) -> None:
    text = "y(i) = A(i,j) * x(j)"
    for snapshot in trace:
        assert {place.text for places in snapshot.places for place in places} == {"notation"}
        parts = set().union(*linked(snapshot, text).values())
        assert {"A(i,j)", "x(j)", "y(i)", "*", "="} <= parts, snapshot.name
    by_name = {snapshot.name: linked(snapshot, text) for snapshot in trace}
    loops = by_name["sparsification-and-bufferization"]
    assert loops["scf.for"] == {"i", "j"}
    assert loops["memref.load"] == {"A(i,j)", "x(j)", "y(i)"}
    assert loops["memref.store"] == {"y(i)"}
    assert (loops["arith.mulf"], loops["arith.addf"]) == ({"*"}, {"="})
    machine = by_name["reconcile-unrealized-casts"]
    # Strategies differ from make to make of processor: some give operations the place of what they load besides.
    assert (machine["llvm.fmul"] - {"A(i,j)"}, machine["llvm.fadd"] - {"A(i,j)"}) == ({"*"}, {"="})
    assert machine["llvm.getelementptr"] - {"i", "j"} == {"A(i,j)", "x(j)", "y(i)"}


# Kernels whose plans have temporaries, views, operators, sparse results, and threads of a GPU.
LINKED = {
    "sparse result": ("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, "CSR", "cpu"),
    "several nests": ("y(i) = b(i) - A(i,j) * x(j)", {"A": "CSR"}, None, "cpu"),
    "level space": ("y(i) = A(i,j) * x(j)", {"A": "DIA"}, None, "cpu"),
    "blocks": ("y(i) = A(i,j) * x(j)", {"A": "BSR(2, 2)"}, None, "cpu"),
    "function": ("y(i) = exp(A(i,j)) * script(j)", {"A": "CSR"}, None, "cpu"),
    "threads": ("y(i) = A(i,j) * x(j)", {"A": "CSR"}, None, "cuda:sm_90"),
}


@pytest.mark.parametrize("name", LINKED)
def test_each_operand_is_linked_in_each_stage(name: str) -> None:
    text, storage, out, target = LINKED[name]
    ranks = {access.tensor: len(access.subscripts) for access in ms.notation.reads(ms.parse(text).value)}
    types = {tensor: f"f64[{','.join('?' * rank)}] {storage.get(tensor, 'dense')}" for tensor, rank in ranks.items()}
    kernel = ms.compile(text, tensors=types, out=out, target=target)
    known = {part.text for part in NotationPlaces(ms.parse(text)).parts} | {text}
    operands = {part.text for part in NotationPlaces(ms.parse(text)).parts if part.text.split("(")[0] in ranks}
    for snapshot in kernel.passes():
        parts = {text[place.start - 1 : place.end - 1] for places in snapshot.places for place in places}
        assert parts <= known, snapshot.name
        assert operands <= parts, snapshot.name


def test_a_crash_leaves_the_passes_before_it() -> None:
    content = (DEFECTS / "scalar_plus_sparse_segv.mlir").read_bytes()
    trace = ms.pipeline.trace_user_module(content, "segv.mlir", ms.pipeline.module_to_buffers())
    assert [snapshot.name for snapshot in trace] == [
        "input",
        "linalg-generalize-named-ops",
        "copy-slices",
        "lower-affine",
        "check-assembled-tensors",
        "check-accesses",
        "generate-runtime-verification",
        "linalg-fuse-elementwise-ops",
    ]
    assert trace.failed.startswith("sparsification-and-bufferization{")
    assert isinstance(trace.failure, ms.CompilerCrash)
    assert (
        str(trace)
        .splitlines()[-1]
        .startswith(
            "sparsification-and-bufferization: failed, expected the pass sparsification-and-bufferization to run, "
            "but the compiler was killed by SIG"
        )
    )
    assert trace.failure.reproducer is not None
    reproducer = Path(trace.failure.reproducer)
    assert f"// pipeline: builtin.module({trace.failed})\n" in reproducer.read_text()
    reproducer.unlink()


def test_a_pass_that_fails_leaves_those_before_it() -> None:
    content = b"func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> { return %x : tensor<4xf64> }"
    passes = ["canonicalize", "convert-func-to-llvm", "reconcile-unrealized-casts", "test-nothing"]
    with pytest.raises(ms.UnsupportedError, match="expected a pass or pipeline with its options, but got 'test-noth"):
        ms.pipeline.trace_user_module(content, "f.mlir", passes)
    one = b'func.func @f() { %0 = "test.unregistered"() : () -> i32 return }'
    with pytest.raises(ms.ModuleError, match="allow-unregistered-dialect"):
        ms.pipeline.trace_user_module(one, "f.mlir", ["canonicalize"])


def test_a_module_is_linked_with_its_own_lines() -> None:
    content = b"""func.func @f(%a: f64, %b: f64) -> f64 {
  %0 = arith.addf %a, %b : f64
  %1 = arith.mulf %0, %b : f64
  return %1 : f64
}"""
    trace = ms.pipeline.trace_user_module(content, "f.mlir", ["convert-arith-to-llvm"])
    assert not trace.failed
    (lines,) = (
        {
            line.split(" = ")[-1].split()[0]: {place.line for place in places}
            for line, places in zip(after.text.splitlines(), after.places, strict=False)
            if " = " in line
        }
        for after in trace[1:]
    )
    assert lines == {"llvm.fadd": {2}, "llvm.fmul": {3}}


def test_strings_that_look_like_locations_stay_in_the_text() -> None:
    with mlir_context():
        module = parse_module('module attributes {a.text = "x loc(unknown) #loc = loc(1)"} {}')
        assert located_text(module, LocatedText("")).text == str(module)
        located = parse_module('func.func private @f() loc(fused["a (b)":1:2, callsite("c" at "d":3:4)])')
        found = located_text(located, LocatedText(""))
        assert found.text == str(located)
        assert ir.Location.unknown() is not None
        assert [(p.text, p.line, p.start) for places in found.places for p in places] == [("a (b)", 1, 2), ("d", 3, 4)]
