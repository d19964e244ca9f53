"""The forms of loops that strategies read, and what is said of a compiler that writes others than the plan expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.strategy_remarks import ADD, SPMM, SPMV, TRANSPOSED
from mlir_sparse import pipeline, plan
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.encoding import PRESETS
from mlir_sparse.loops.model import loop_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.notation import Operator
from mlir_sparse.pipeline import Pipeline
from mlir_sparse.pipeline.own_passes import OWN_PASSES
from mlir_sparse.pipeline.pass_values import Pass
from mlir_sparse.plan.expected_loops import expected_loops
from mlir_sparse.program.loop_form import LoopForm, NestLoops

DENSE, POSITIONS, MERGE, SEGMENT_END = LoopForm
STORAGE = [name for name in PRESETS if PRESETS[name].min_rank <= 2 <= (PRESETS[name].max_rank or 2)]
BESIDE = ("CSR", "DCSR", "COO", "")
WITHOUT = ms.operator(lambda a, b: None, left="keep")
LEANING = ms.operator(lambda a, b: a + 2 * b, right="keep")
FILLED = ms.operator(lambda a: a + 1, absent=7)
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
    assert said_of(build) == []


def said_of(build: Build, *changes: Pass, expected: Mapping[str, NestLoops] | None = None) -> list[str]:
    """Returns what is said of loops that are other than expected, where the compiler changes them so."""
    types = dict(build.program.types)
    found = {each.name: expected_loops(each.step, types) for each in plan.functions_of(build.program)}
    before, after = with_loops(build, *changes)
    said = pipeline.remarks_on(build.lowered.bytecode, before.then(after), expected or found, kernel="a kernel")
    return [f"{remark.loop}: {remark.reason}" for remark in said if remark.strategy == "read-loops"]


def unexpected(text: str, out: str | None, **operands: Any) -> list[Remark]:
    """Returns what a kernel says of loops that are other than its plan expects."""
    kernel = ms.compile(text, out=out, tensors=operands)
    return [remark for remark in kernel.remarks() if remark.strategy == "read-loops"]


@crossed(text=[SPMV, TRANSPOSED, SPMM, "s = A(i,j)", "C(i,j) = 2 * A(i,j)"], storage=STORAGE)
def test_loops_over_all_storage_are_as_the_plan_expects(text: str, storage: str) -> None:
    dense = {"x": "f64[?]", "B": "f64[?,?]"}
    assert not unexpected(
        text, None, A=f"f64[?,?] {storage}", **{n: kind for n, kind in dense.items() if f"{n}(" in text}
    )


@crossed(
    text=[ADD, "C(i,j) = A(i,j) * B(i,j)", "C(i,j) = A(i,k) * B(k,j)", "C(i,j) = A(i,j) + A(i,j) * B(i,j)"],
    left=BESIDE[:3],
    right=BESIDE,
    out=["CSR", "COO", "dense"],
)
def test_loops_over_several_operands_are_as_the_plan_expects(text: str, left: str, right: str, out: str) -> None:
    assert not unexpected(text, out, A=f"f64[?,?] {left}", B=f"f64[?,?] {right}".strip())


@crossed(
    text=["C(i,j) = A(i,j) if M(i,j)", "C(i,j) = A(i,j) if not M(i,j)", "C(i,j) = f(A(i,j), M(i,j))"],
    operator=[WITHOUT, LEANING],
    left=BESIDE[:3],
    right=BESIDE[:3],
)
def test_loops_of_operators_on_entries_are_as_the_plan_expects(
    text: str, operator: Operator, left: str, right: str
) -> None:
    operands: dict[str, Any] = {"f": operator} if "f(" in text else {}
    assert not unexpected(text, "CSR", A=f"f64[?,?] {left}", M=f"f64[?,?] {right}", **operands)


def test_loops_of_an_operator_beside_entries_are_as_the_plan_expects() -> None:
    assert not unexpected("C(i,j) = u(A(i,j))", "dense", A="f64[?,?] DCSR", u=FILLED)


def test_loops_of_another_form_are_told() -> None:
    unread = "but the compiler in use writes an scf.while that no strategy reads"
    assert said_of(built(SPMV, None, A="CSR", x=""), TO_WHILE) == [
        f"i: the plan expects loops over coordinates of a dense level, {unread}",
        f"j: the plan expects loops over stored entries, {unread}",
    ]


@pytest.mark.parametrize(
    ("forms", "said"),
    [
        (
            ({DENSE}, {MERGE, POSITIONS}),
            (
                "j: the plan expects loops over stored entries and operands that meet, "
                "but the compiler in use writes loops over stored entries"
            ),
        ),
        (
            ({DENSE},),
            "j: the plan expects no loop, but the compiler in use writes loops over stored entries",
        ),
        (
            ({DENSE}, {POSITIONS}, {DENSE}),
            ": the plan expects loops over coordinates of a dense level, but the compiler in use writes no loop",
        ),
    ],
)
def test_what_the_plan_expects_is_compared(forms: tuple[set[LoopForm], ...], said: str) -> None:
    expected = {"kernel": NestLoops(("i", "j"), tuple(map(frozenset, forms)))}
    assert said_of(built(SPMV, None, A="CSR", x=""), expected=expected) == [said]
