"""The forms of loops that strategies read, and what is said of a compiler that writes others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import mlir_sparse as ms
from dialect_tests.strategy_remarks import ADD, SPMM, SPMV
from mlir_sparse import pipeline, plan
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.loops.model import loop_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.pipeline import Pipeline, Remark
from mlir_sparse.pipeline.own_passes import OWN_PASSES
from mlir_sparse.pipeline.pass_values import Pass
from mlir_sparse.program.loop_form import LoopForm

DENSE, POSITIONS, MERGE, SEGMENT_END = LoopForm
TO_WHILE = Pass("scf-for-to-while", "loops as another compiler might write them", on_functions=True)


def built(text: str, out: str | None, **storage: str) -> Build:
    kinds = {name: f"f64[{'?' if name == 'x' else '?,?'}] {stored}".strip() for name, stored in storage.items()}
    return Build.of(ms.compile(text, out=out, tensors=kinds).spec)


def with_loops(build: Build, *changes: Pass) -> tuple[Pipeline, Pipeline]:
    """Returns the passes down to the first of ours, with changes behind them, and those that follow."""
    passes = build.passes.passes
    first = next(at for at, step in enumerate(passes) if step.name in OWN_PASSES)
    return Pipeline((*passes[:first], *changes)), Pipeline(passes[first:])


@pytest.mark.parametrize(
    ("text", "out", "storage", "forms"),
    [
        (SPMV, None, {"A": "CSR", "x": ""}, {DENSE, POSITIONS}),
        (SPMV, None, {"A": "DCSR", "x": ""}, {POSITIONS}),
        (SPMV, None, {"A": "COO", "x": ""}, {MERGE, SEGMENT_END, POSITIONS}),
        (SPMV, None, {"A": "ELL", "x": ""}, {DENSE, POSITIONS}),
        (SPMM, None, {"A": "CSR", "B": ""}, {DENSE, POSITIONS}),
        (SPMM, "CSR", {"A": "CSR", "B": "CSR"}, {DENSE, POSITIONS}),
        (ADD, "CSR", {"A": "CSR", "B": "CSR"}, {DENSE, MERGE, POSITIONS}),
        (ADD, "COO", {"A": "COO", "B": "COO"}, {MERGE, SEGMENT_END, POSITIONS}),
    ],
)
def test_all_loops_are_read(text: str, out: str | None, storage: dict[str, str], forms: set[LoopForm]) -> None:
    build = built(text, out, **storage)
    with mlir_context():
        seen = Seen(parse_module(build.compile(with_loops(build)[0], as_text=True).decode()))
        loops = [loop_of(op) for name in ("scf.for", "scf.while") for op in seen.whole.named(name)]
        found = {None if loop is None else loop.form for loop in loops}
    assert found == forms
    assert unread(build) == []


def unread(build: Build, *changes: Pass) -> Sequence[Remark]:
    """Returns what is said of loops that are not read, where the compiler changes them so."""
    variables = {each.name: tuple(map(str, each.step.loops)) for each in plan.functions_of(build.program)}
    before, after = with_loops(build, *changes)
    said = pipeline.remarks_on(build.lowered.bytecode, before.then(after), variables, kernel="a kernel")
    return [remark for remark in said if remark.strategy == "read-loops"]


def test_loops_of_another_form_are_told() -> None:
    said = unread(built(SPMV, None, A="CSR", x=""), TO_WHILE)
    assert [remark.loop for remark in said] == ["j", "i"]
    assert {remark.reason for remark in said} == {
        "the compiler in use writes it as an scf.while that no strategy reads"
    }
