"""Schedules: text, what a kernel makes of one, and what it refuses. Results are compared with NumPy's."""

from __future__ import annotations

import contextlib
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import mlir_sparse as ms
from mlir_sparse.tools.cli import main

CSR, MATRIX, VECTOR = "f64[?,?] CSR", "f64[?,?]", "f64[?]"
NAMES = st.sampled_from(["i", "j", "k", "row", "a_1"])
SCHEDULES = st.builds(
    ms.Schedule,
    st.none() | st.lists(NAMES, min_size=1, unique=True).map(tuple),
    st.none() | st.sampled_from([0, 2, 4, 8, 16, 32, 64]),
    st.none() | st.integers(0, 512),
)


def operands() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    A = rng.random((9, 7)) * (rng.random((9, 7)) < 0.4)
    return A, ms.tensor(A, "CSR"), rng.random((7, 19))


@given(SCHEDULES)
def test_what_prints_parses_back(schedule: ms.Schedule) -> None:
    assert ms.Schedule.parse(str(schedule)) == schedule
    assert hash(ms.Schedule.parse(str(schedule))) == hash(schedule)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    with contextlib.suppress(ms.ScheduleError):
        ms.Schedule.parse(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ms.Schedule(lanes=3), "expected lanes of 0, 2, 4, 8, 16, 32, 64 in a schedule, but got 3"),
        (lambda: ms.Schedule(lanes=True), "but got True"),
        (lambda: ms.Schedule(tile=-1), "expected a tile of 0 to 512 elements in a schedule, but got -1"),
        (lambda: ms.Schedule(tile=513), "but got 513"),
        (lambda: ms.Schedule(order=()), "expected the names of index variables, each once"),
        (lambda: ms.Schedule(order=("i", "i")), "but got 'i, i'"),
        (lambda: ms.Schedule.parse("order=i,,j"), "but got 'i, , j'"),
        (lambda: ms.Schedule.parse("lanes=x"), "expected a number for lanes in a schedule, but got 'x'"),
        (lambda: ms.Schedule.parse("lanes=²"), "expected a number for lanes"),
        (lambda: ms.Schedule.parse("lanes=2 lanes=4"), "each part once, but got 'lanes=4'"),
        (lambda: ms.Schedule.parse("unroll=2"), "but got 'unroll=2' in 'unroll=2'"),
        (lambda: ms.Schedule.of(3), "expected a Schedule or its text, but got int"),  # type: ignore[arg-type]
    ],
)
def test_errors_of_schedules(make: Any, message: str) -> None:
    with pytest.raises(ms.ScheduleError) as raised:
        make()
    assert message in str(raised.value)


@pytest.mark.parametrize("order", [",".join(p) for p in permutations("ikj")])
def test_every_order_gives_the_same_product(order: str) -> None:
    A, T, B = operands()
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=T, B=B, schedule=f"order={order}")
    np.testing.assert_allclose(kernel(T, B), A @ B, rtol=1e-14)
    assert f"loop order: {', '.join(order.split(','))}; as the schedule says" in kernel.explain()
    assert f"schedule: order={order}" in kernel.explain()
    converts = order.index("k") < order.index("i")
    assert ("convert A" in kernel.ir("plan")) == converts


def test_all_loop_nests_of_a_statement_keep_the_order() -> None:
    A, T, _ = operands()
    b, x = np.arange(9.0), np.arange(7.0)
    kernel = ms.compile("y(i) = b(i) - A(i,j) * x(j)", b=b, A=T, x=x, schedule="order=j,i")
    assert "loops j, i" in kernel.ir("plan")
    np.testing.assert_allclose(kernel(b, T, x), b - A @ x, rtol=1e-14)


@pytest.mark.parametrize(
    "text", ["y = H if M(i,j)", "y(i) = H if M(i,j)", "y += 2 * H if M(i,j)", "y(i) = -H if M(j,i)"]
)
def test_numbers_beside_entries_take_scalar_loops(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLIR crashes on vectors of a number that is read at each entry: they are refused, or left out where not asked."""
    operands: dict[str, Any] = {"H": np.array(3.0), "M": ms.tensor(np.tri(6), "CSR")}
    operands |= {"y": np.array(1.0)} if "+=" in text else {}
    wanted = ms.evaluate(text, tensors=operands, schedule="lanes=0")
    with pytest.raises(ms.UnsupportedError, match="a number is read beside entries"):
        ms.evaluate(text, tensors=operands, schedule="lanes=8")
    monkeypatch.setenv("MLIR_SPARSE_VECTOR_LANES", "8")
    np.testing.assert_array_equal(ms.compile(text, tensors=operands)(**operands), wanted)


@pytest.mark.parametrize("lanes", [0, 4])
def test_lanes_are_those_of_the_schedule(lanes: int) -> None:
    A, T, B = operands()
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=T, B=B, schedule=ms.Schedule(lanes=lanes))
    np.testing.assert_allclose(kernel(T, B), A @ B, rtol=1e-14)
    assert ("vector<4xf64>" in kernel.ir("sparsified")) == bool(lanes)


def test_kernels_of_schedules_are_kept_apart() -> None:
    A, T, B = operands()
    text = "C(i,j) = A(i,k) * B(k,j)"
    kernels = [ms.compile(text, A=T, B=B, schedule=s) for s in (None, "static", "order=j,i,k", "order=j,i,k")]
    assert kernels[0] is kernels[1]
    assert kernels[2] is kernels[3]
    assert kernels[0] is not kernels[2]
    np.testing.assert_allclose(ms.evaluate(text, A=T, B=B, schedule="order=j,i,k"), A @ B, rtol=1e-14)


def test_a_saved_kernel_keeps_its_schedule(tmp_path: Path) -> None:
    A, T, B = operands()
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=T, B=B, schedule="order=k,i,j lanes=0")
    kernel.save(tmp_path / "spmm.msk")
    loaded = ms.load(tmp_path / "spmm.msk")
    assert loaded.schedule == ms.Schedule(order=("k", "i", "j"), lanes=0)
    np.testing.assert_allclose(loaded(T, B), A @ B, rtol=1e-14)


SPMV = "y(i) = A(i,j) * x(j)"
SPGEMM = "C(i,j) = A(i,k) * B(k,j)"


@pytest.mark.parametrize(
    ("text", "types", "schedule", "error", "message"),
    [
        (SPMV, {"A": CSR, "x": VECTOR}, "order=i,k", ms.ScheduleError, "of the index variables i, j, each once, but"),
        (SPMV, {"A": CSR, "x": VECTOR}, "order=i", ms.ScheduleError, "each once, but got i"),
        (SPGEMM, {"A": CSR, "B": CSR}, "order=k,i,j", ms.UnsupportedError, "can insert into a sparse result over i"),
        (SPGEMM, {"A": CSR, "B": CSR}, "lanes=8", ms.UnsupportedError, "because the result is sparse"),
        (SPMV, {"A": "i64[?,?] CSR", "x": "i64[?]"}, "lanes=4", ms.UnsupportedError, "f64 only, but got lanes=4"),
        (SPMV, {"A": "f64[?,?] DIA", "x": VECTOR}, "order=i,j", ms.UnsupportedError, "loops over the levels of A"),
        ("def mv(float(M,K) A, float(K) x) -> (y) { y(i) +=! A(i,k) * x(k) }", {}, "lanes=0", ms.UnsupportedError,
         "one statement without ranges"),
    ],
)  # fmt: skip
def test_what_a_kernel_cannot_be_compiled_by(
    text: str, types: dict[str, str], schedule: str, error: type[ms.SparseError], message: str
) -> None:
    with pytest.raises(error) as raised:
        ms.compile(text, tensors=types, schedule=schedule)
    assert message in str(raised.value)


def test_lanes_are_refused_where_coordinates_are_narrow() -> None:
    A, _, _ = operands()
    T = ms.tensor(A, ms.encoding("CSR", pos_width=16, crd_width=8))
    with pytest.raises(ms.UnsupportedError, match="32 bits and more only, but got lanes=4"):
        ms.evaluate(SPMV, A=T, x=np.ones(7), schedule="lanes=4")


def test_the_command_line_takes_schedules() -> None:
    options = [SPMV, "-f", "A:CSR", "--schedule", "order=j,i", "--stage", "plan"]
    shown = CliRunner().invoke(main, ["emit", *options])
    assert shown.exit_code == 0
    assert "loops j, i" in shown.output
    refused = CliRunner().invoke(main, ["emit", SPMV, "-f", "A:CSR", "--schedule", "order=j"])
    assert refused.exit_code == 1
    assert "expected an order of the index variables i, j" in refused.output
