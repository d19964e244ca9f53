"""The pass that takes sparse results out of tensors: what it leaves in a module, and what it refuses."""

from __future__ import annotations

import re

import pytest

import mlir_sparse as ms
from mlir_sparse import pipeline
from mlir_sparse.pipeline.run_passes import run_here

ADD = "C(i,j) = A(i,j) + B(i,j)"
PRODUCT = "C(i,j) = A(i,k) * B(k,j)"
RESULTS = ("CSR", "CSC", "DCSR", "DCSC", "COO", "(i, j) -> (i : compressed(nonunique), j : singleton(soa))")


def compiled(text: str, out: str | None, stored: str = "CSR") -> ms.Kernel:
    return ms.compile(text, out=out, A=f"f64[?,?] {stored}", B=f"f64[?,?] {stored}")


@pytest.mark.parametrize("out", RESULTS)
@pytest.mark.parametrize("text", [ADD, PRODUCT])
def test_no_tensor_and_no_call_is_left(text: str, out: str) -> None:
    text = compiled(text, out).ir("sparsified")
    functions = re.findall(r"func\.func @(\w+)", text)
    assert all(name.startswith("kernel") for name in functions), "code generation added functions of its own"
    for left in ("tensor<", "memref.alloc(", "memref.realloc", " call @"):
        assert left not in text


def test_the_trace_shows_the_pass_between_the_sparsifier_and_code_generation() -> None:
    trace = compiled(ADD, "CSR").passes()
    names = [snapshot.name for snapshot in trace]
    at = names.index("assemble-sparse-results")
    assert "sparsification" in names[:at]
    assert "sparse-tensor-codegen" in names[at:]
    assert "tensor.insert" in trace[at - 1].text
    assert "tensor.insert" not in trace[at].text
    assert any(line.startswith("+") and "scf.while" in line for line in trace.diff("sparsification").splitlines())
    assert trace[-1].text == compiled(ADD, "CSR").ir("llvm")


def test_entries_of_a_merge_are_chosen_without_branches() -> None:
    """One branch for all operands that meet moves each on by one; every other subset is a choice of the value."""
    (text,) = [s.text for s in compiled(ADD, "CSR").passes() if s.name == "assemble-sparse-results"]
    merge = text[text.index("scf.while") :]
    merge = merge[: merge.index("scf.for")]
    assert merge.count("scf.if") == 1
    assert len(re.findall(r"arith\.select .* : f64", merge)) == 1


def test_reproducers_name_the_pass() -> None:
    kernel = compiled(PRODUCT, "CSR")
    build = kernel._declared
    assert "assemble-sparse-results{mode=assemble}" in str(build.passes)
    outcome = run_here(build.lowered.bytecode, str(build.passes), as_text=True)
    assert outcome.module is not None
    assert outcome.module.decode() == kernel.ir("llvm")


_CALLED = """
%0 = bufferization.alloc_tensor(%n) : tensor<?xf64, #v>
%1 = func.call @g(%0) : (tensor<?xf64, #v>) -> tensor<?xf64, #v>
return %1 : tensor<?xf64, #v>"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return %a : tensor<?xf64, #v>", "expected one empty sparse tensor"),
        (_CALLED, "around a sparse result, but got func.call"),
    ],
)
def test_results_that_no_loop_inserts_into_are_refused(body: str, reason: str) -> None:
    module = (
        "#v = #sparse_tensor.encoding<{ map = (i) -> (i : compressed) }>\n"
        "func.func private @g(tensor<?xf64, #v>) -> tensor<?xf64, #v>\n"
        f"func.func @f(%a : tensor<?xf64, #v>, %n : index) -> tensor<?xf64, #v> {{\n{body}\n}}"
    )
    outcome = run_here(module, "builtin.module(assemble-sparse-results{mode=assemble})")
    assert outcome.module is None
    assert reason in outcome.diagnostics


def test_pipelines_of_both_kinds_of_passes_are_told_apart() -> None:
    text = str(pipeline.sparsifier(0, "compute").then(pipeline.cpu()))
    assert text.startswith("builtin.module(func.func(linalg-generalize-named-ops),pre-sparsification-rewrite,")
    outcome = run_here("module {}", text, as_text=True)
    assert outcome.module == b"module {\n}\n"
    assert "does not refer" in run_here("module {}", "builtin.module(no-such-pass)").diagnostics


@pytest.mark.parametrize("mode", ["assemble", "compute"])
def test_a_masking_row_is_scattered_and_looked_up(mode: str) -> None:
    """`where` holds positions plus 1 before the reduction, and nothing after it; no loop merges."""
    build = compiled("C(i,j) = A(i,j) * (A(i,k) * B(k,j))", "CSR")._declared
    text = build.compile(pipeline.sparsifier(0, mode), as_text=True).decode()
    merged = build.compile(pipeline.Pipeline(build.sparsifier.passes[:5]), as_text=True).decode()
    assert "scf.while" in merged
    body = text[: text.index("memref.dim") if mode == "assemble" else len(text)]
    assert "scf.while" not in body
    places = re.findall(r"(%arg\d+): memref<\?xindex>", text)[-2]
    looks = [line.strip() for line in text.splitlines() if f"{places}[" in line]
    assert [line.startswith("memref.store") for line in looks] == [True, False, True]
    assert looks[2].startswith("memref.store %c0,")
