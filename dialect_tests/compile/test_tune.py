"""Tuning, on a clock that calls of kernels move: what is taken, what is kept, and what is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.interrupts import seconds_to_interrupt
from mlir_sparse.compile import tune
from mlir_sparse.compile.tuning import schedule_candidates
from mlir_sparse.compile.tuning.tuning_table import Table, TuningRow
from mlir_sparse.tools.cli import main

SPMM = "C(i,j) = A(i,k) * B(k,j)"
SPMV = "y(i) = A(i,j) * x(j)"
# Whatever the machine: the plan's choice is scalar, and lanes are something else.
LANES = "MLIR_SPARSE_VECTOR_LANES"

Cost = Callable[[ms.Kernel], float]


class Clock:
    """Moves by what calls of kernels and conversions cost."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cost: Cost = lambda kernel: 0.001
        self.calls = 0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(LANES, "0")
    # Each is compiled: some must do.
    monkeypatch.setattr(schedule_candidates, "_VECTOR_BITS", (256,))
    monkeypatch.setattr(schedule_candidates, "_TILES", (0,))
    return tmp_path / "cache"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made, call = Clock(), ms.Kernel.__call__

    def timed(self: ms.Kernel, *operands: Any, **named: Any) -> Any:
        made.now += made.cost(self)
        made.calls += 1
        return call(self, *operands, **named)

    monkeypatch.setattr(ms.Kernel, "__call__", timed)
    return made


def operands(n: int = 12) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(n)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    return A, ms.tensor(A, "CSR"), rng.random((n, 5))


def test_the_fastest_order_is_taken(clock: Clock) -> None:
    A, T, B = operands()
    clock.cost = lambda kernel: 0.001 if kernel.schedule.order == ("k", "i", "j") else 0.002
    found = tune(SPMM, T, B, clock=clock, budget=100.0)
    assert found.schedule.order == ("k", "i", "j")
    assert not found.remembered
    np.testing.assert_allclose(found.kernel(T, B), A @ B, rtol=1e-13)
    best, *others = found.table
    assert best.candidate.startswith("order=k,i,j")
    assert best.seconds == pytest.approx(0.001)
    assert best.rate == pytest.approx((T.nbytes + B.nbytes + 12 * 5 * 8) / 0.001 / 1e9)
    timed = [row.seconds for row in others if row.seconds and not row.candidate.startswith("order=k,i,j")]
    assert timed == pytest.approx([0.002] * len(timed))


def test_lanes_are_searched_with_the_order(clock: Clock) -> None:
    _, T, B = operands()
    clock.cost = lambda kernel: 0.004 / (1 + (kernel.schedule.order is not None)) / (1 + bool(kernel.schedule.lanes))
    found = tune(SPMM, T, B, clock=clock, budget=100.0)
    assert found.schedule.order is not None
    assert found.schedule.lanes == 4
    assert found.table[0].seconds == pytest.approx(0.001)


def test_the_choice_of_the_plan_stays_where_nothing_is_clearly_faster(clock: Clock) -> None:
    _, T, B = operands()
    clock.cost = lambda kernel: 0.001 if kernel.schedule == ms.Schedule() else 0.00098
    assert tune(SPMM, T, B, clock=clock, budget=100.0).schedule == ms.Schedule()


def test_a_wrong_result_is_never_taken(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    _, T, B = operands()
    clock.cost = lambda kernel: 0.002 if kernel.schedule == ms.Schedule() else 0.001
    call = ms.Kernel.__call__

    def wrong(self: ms.Kernel, *operands: Any, **named: Any) -> Any:
        result = call(self, *operands, **named)
        return result if self.schedule.order is None and not self.schedule.lanes else result + 1e-3

    monkeypatch.setattr(ms.Kernel, "__call__", wrong)
    found = tune(SPMM, T, B, clock=clock, budget=100.0)
    assert found.schedule.order is None
    assert not found.schedule.lanes
    differing = [row for row in found.table if "its result differs" in row.note]
    assert len(differing) >= 3
    assert all(row.seconds is None for row in differing)


def test_a_kernel_that_does_not_compile_is_no_candidate(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    _, T, B = operands()
    call = ms.Kernel.__call__

    def failing(self: ms.Kernel, *operands: Any, **named: Any) -> Any:
        if self.schedule.order is not None:
            raise ms.CompilerCrash("expected a module, but got a crash")
        return call(self, *operands, **named)

    monkeypatch.setattr(ms.Kernel, "__call__", failing)
    found = tune(SPMM, T, B, clock=clock, budget=100.0)
    assert found.schedule.order is None
    assert any(row.note == "expected a module, but got a crash" for row in found.table)


def test_storage_is_chosen_where_asked_and_conversion_has_its_price(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, T, _ = operands()
    x = np.ones(12)
    stored = ms.SparseTensor.convert

    def convert(self: ms.SparseTensor, *given: Any, **named: Any) -> ms.SparseTensor:
        clock.now += 0.01
        return stored(self, *given, **named)

    monkeypatch.setattr(ms.SparseTensor, "convert", convert)
    clock.cost = lambda kernel: 0.001 if "COO" in str(kernel.spec.inputs[0][1]) else 0.003
    found = tune(SPMV, T, x, clock=clock, budget=100.0, formats=True)
    assert found.encodings["x"] is None
    coo = found.encodings["A"]
    assert coo is not None
    assert coo == ms.encoding("COO")
    best = found.table[0]
    assert best.candidate == "A: COO; static"
    assert best.convert == pytest.approx(0.01)
    assert best.pays_after == 5
    csc = next(row for row in found.table if row.candidate == "A: CSC; static")
    assert csc.pays_after is None
    np.testing.assert_allclose(found.kernel(*found.arrange(T, x)), A @ x, rtol=1e-13)
    np.testing.assert_allclose(found.kernel(*found.arrange(A=A, x=x)), A @ x, rtol=1e-13)
    text = str(found)
    assert re.search(r"^candidate +ms +to best +GB/s +convert ms +pays after$", text, re.M)
    assert "fastest: schedule static; A as COO, x as dense" in text
    # Kernels for operands stored so are tuned too, those for the given storage are not.
    kernel = ms.compile(SPMV, A=T.convert("COO"), x=x, schedule="tuned")
    assert kernel.schedule == found.schedule
    with pytest.raises(ms.UnsupportedError, match="expected a kernel that was tuned"):
        ms.compile(SPMV, A=T, x=x, schedule="tuned")
    again = tune(SPMV, T, x, clock=clock, formats=True)
    assert again.remembered
    assert again.encodings == found.encodings


def test_what_was_found_is_remembered(clock: Clock) -> None:
    A, T, B = operands()
    clock.cost = lambda kernel: 0.001 if kernel.schedule.order == ("k", "i", "j") else 0.002
    first = tune(SPMM, T, B, clock=clock, budget=100.0)
    calls = clock.calls
    again = tune(SPMM, T, B, clock=clock, budget=100.0)
    assert clock.calls == calls
    assert again.remembered
    assert again.schedule == first.schedule
    assert list(again.table) == list(first.table)
    assert str(again).endswith("from the record of an earlier tuning")
    for given in ({"A": T, "B": B}, {"A": "f64[?,?] CSR", "B": "f64[?,?]"}):
        assert ms.compile(SPMM, **given, schedule="tuned").schedule == first.schedule
    np.testing.assert_allclose(ms.evaluate(SPMM, A=T, B=B, schedule="tuned"), A @ B, rtol=1e-13)
    assert not tune(SPMM, T, B, clock=clock, budget=100.0, fresh=True).remembered


def test_other_extents_types_and_kernels_are_measured_anew(clock: Clock) -> None:
    _, T, B = operands()
    tune(SPMM, T, B, clock=clock, budget=100.0)
    _, larger, wider = operands(40)
    clock.cost = lambda kernel: 10.0  # the budget ends after the first
    assert not tune(SPMM, larger, wider, clock=clock, budget=1.0).remembered
    assert not tune(SPMM, T.astype(np.float32), B.astype(np.float32), clock=clock, budget=1.0).remembered
    assert not tune(SPMM, T.convert("CSC"), B, clock=clock, budget=1.0).remembered
    assert not tune("C(i,j) = 2 * A(i,k) * B(k,j)", T, B, clock=clock, budget=1.0).remembered
    assert tune(SPMM, T, B, clock=clock, budget=100.0).remembered


def test_damaged_records_are_no_records(clock: Clock, folder: Path) -> None:
    _, T, B = operands()
    tune(SPMM, T, B, clock=clock, budget=100.0)
    (path,) = folder.rglob("*.json")
    whole = path.read_text()
    for text in ("", whole[:-20], "[]", "null", whole.replace('"schedule": "', '"schedule": "fast'), "\0" * 9):
        path.write_text(text)
        assert not tune(SPMM, T, B, clock=clock, budget=100.0).remembered
        assert tune(SPMM, T, B, clock=clock, budget=100.0).remembered  # written anew
    assert not list(folder.rglob("*.part"))


def test_nothing_is_kept_where_that_is_off_or_cannot_be(
    clock: Clock, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, T, B = operands()
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    assert not tune(SPMM, T, B, clock=clock, budget=100.0).remembered
    assert not tune(SPMM, T, B, clock=clock, budget=100.0).remembered
    monkeypatch.setenv("MLIR_SPARSE_CACHE", os.devnull)
    assert not tune(SPMM, T, B, clock=clock, budget=100.0).remembered
    assert not folder.exists()


def test_kernels_are_tuned_as_notation_is(clock: Clock) -> None:
    A, T, B = operands()
    C = np.ones((12, 5))
    kernel = ms.compile("C(i,j) += A(i,k) * B(k,j)", C="f64[?,5]", A="f64[?,?] CSR", B="f64[?,5]")
    found = tune(kernel, C, T, B, clock=clock, budget=100.0)
    np.testing.assert_allclose(found.kernel(C, T, B), 1 + A @ B, rtol=1e-13)
    np.testing.assert_array_equal(C, 1)
    assert dict(found.kernel.spec.inputs)["B"].shape == (None, 5)
    distances = tune("D(i,j) = A(i,k) * A(k,j)", T, semiring="max_times", out="dense", clock=clock, budget=100.0)
    products = np.where((A[:, :, None] != 0) & (A[None] != 0), A[:, :, None] * A[None], -np.inf)
    expected = np.max(products, axis=1)
    np.testing.assert_allclose(distances.kernel(T), expected, rtol=1e-13)
    product = tune("C(i,j) = A(i,k) * A(k,j)", T, out="CSR", clock=clock, budget=100.0)
    np.testing.assert_allclose(product.kernel(T).to_numpy(), A @ A, rtol=1e-13)
    notes = [row.note for row in product.table]
    assert any("expected a loop order that can insert into a sparse result" in note for note in notes)


def test_fewer_threads_are_taken_where_that_is_faster(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    A, T, _ = operands()
    x = np.ones(12)
    ms.set_num_threads(8)
    monkeypatch.setattr(schedule_candidates, "_VECTOR_BITS", ())
    try:
        clock.cost = lambda kernel: 0.001 if kernel.threads == 4 else 0.002
        found = tune(SPMV, T, x, clock=clock, budget=100.0)
        assert found.threads == found.kernel.threads == 4
        np.testing.assert_allclose(found.kernel(T, x), A @ x, rtol=1e-13)
        assert found.table[0].candidate == "static; threads=4"
        assert "fastest: schedule static on 4 threads; " in str(found)
        assert tune(SPMV, T, x, clock=clock).threads == 4
        assert ms.compile(SPMV, A=T, x=x, schedule="tuned").threads == 4
        assert ms.compile(SPMV, A=T, x=x, schedule="tuned", threads=2).threads == 2
        limited = tune(ms.compile(SPMV, A=T, x=x, threads=3), T, x, clock=clock, fresh=True)
        assert limited.threads is None
        assert limited.kernel.threads == 3
    finally:
        ms.set_num_threads(None)


def test_the_budget_is_kept(clock: Clock) -> None:
    _, T, B = operands()
    clock.cost = lambda kernel: 1.0
    found = tune(SPMM, T, B, clock=clock, budget=6.0)
    assert clock.now < 12
    assert any(row.note == "not timed: the budget was spent" for row in found.table)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda T, B: tune(SPMM, T, B, budget=0), ms.OperandError, "a budget of more than 0 seconds, but got 0"),
        (lambda T, B: tune(SPMM, T), ms.UnknownTensorError, "B"),
        (lambda T, B: tune(SPMM, T, B, B), ms.OperandError, "expected 2 operands (A, B), but got 3"),
        (lambda T, B: tune(SPMM, T, B, A=T), ms.OperandError, "expected A once, but got it by position and by name"),
        (lambda T, B: tune(SPMM, T, B, Z=T), ms.UnknownTensorError, "Z"),
        (lambda T, B: tune(ms.compile(SPMM, A=T, B=B), T, B, out="dense"), ms.OperandError, "with notation only"),
        (lambda T, B: tune(SPMM, T, B, formats={"Z": ["CSR"]}), ms.UnknownTensorError, "for operands A, B, but got Z"),
        (lambda T, B: tune("def mv(float(M,K) A, float(K) x) -> (y) { y(i) +=! A(i,k) * x(k) }", B, B[0]),
         ms.UnsupportedError, "one statement without ranges to tune"),
        (lambda T, B: ms.compile(SPMM, A=T, B=B, schedule="tuned"), ms.UnsupportedError, "with no record on this mach"),
    ],
)  # fmt: skip
def test_errors(call: Any, error: type[ms.SparseError], message: str) -> None:
    _, T, B = operands()
    with pytest.raises(error) as raised:
        call(T, B)
    assert message in str(raised.value)


def test_an_interrupt_ends_a_tuning_and_keeps_nothing_of_it(folder: Path) -> None:
    dense, A, B = operands()
    assert seconds_to_interrupt(lambda: tune(SPMM, A, B, budget=30, fresh=True), 0.2) < 10
    assert not list(folder.glob("tuned/*.part"))
    found = tune(SPMM, A, B, budget=0.05, fresh=True)
    np.testing.assert_allclose(found.kernel(*found.arrange(A, B)), dense @ B)


def test_tables_without_times_print() -> None:
    table = Table([TuningRow("order=j,i", note="left out"), TuningRow("static", 0.0, None, 1)])
    assert str(table).splitlines()[1:] == [
        "static             0        -",
        "order=j,i          -        -      -  left out",
    ]
    assert table[0].candidate == "static"
    assert table[:1] == [table[0]]


def test_the_command_line(clock: Clock) -> None:
    options = [SPMV, "-f", "A:CSR", "-g", "A=random", "-s", "A=8x9", "-g", "x=ones", "--budget", "0.5"]
    shown = CliRunner().invoke(main, ["tune", *options, "--try", "A:COO"])
    assert shown.exit_code == 0, shown.output
    assert re.search(r"^A: COO; static ", shown.output, re.M)
    assert re.search(r"^fastest: schedule ", shown.output, re.M)
    again = CliRunner().invoke(main, ["tune", *options, "--try", "A:COO"])
    assert "from the record of an earlier tuning" in again.output
    refused = CliRunner().invoke(main, ["tune", *options, "--target", "cuda"])
    assert refused.exit_code == 1
    assert "expected --target cpu to tune for, but got 'cuda'" in refused.output
