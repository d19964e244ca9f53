"""What a machine is measured by: times of steps from times of kernels, and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.tuning import timed_kernels, tune_machine
from mlir_sparse.compile.tuning.fitted_times import fitted
from mlir_sparse.compile.tuning.timed_kernels import (
    ARRAY,
    COLUMNS,
    DEGREE,
    ENTERING,
    LARGE,
    LINES,
    MATRIX,
    NEAR_ENTRIES,
    SHORT,
    SMALL,
    SQUARE,
    STACK,
    THIN,
    Kernels,
    sizes,
)
from mlir_sparse.compile.tuning.timed_rounds import TimedRounds
from mlir_sparse.machine import FAR_SIZES, MachineProfile, MachineTimes, machine_profile, shipped_profiles
from mlir_sparse.tools.doctor import examine

MACHINE = shipped_profiles()["amd-epyc-family-25"].times
ENTRIES, PRODUCTS = 1e6, 8e6


def times_of_kernels(step: MachineTimes) -> dict[str, float]:
    """Returns what the kernels take on a machine of which the times of steps are known."""
    rows = step.call + MATRIX * (step.write + step.look_up + step.walk) + ENTRIES * step.walk
    lines = LINES * DEGREE
    walked = (LINES + lines) * step.walk
    lanes = lines * COLUMNS * step.lane
    return {
        "call": step.call,
        "sparse_result": step.call + step.sparse_result,
        "rows": rows,
        "vector": rows + ENTRIES * step.look_up,
        **{f"cleared {n}": float(n) for n in (MATRIX, *FAR_SIZES)},
        **{
            f"scattered {n}": n + ENTRIES * (each + step.walk)
            for n, each in zip((MATRIX, *FAR_SIZES), (step.scatter, *step.far_scatters), strict=True)
        },
        "scaled": step.sparse_result + ENTRIES * (step.walk + step.look_up + step.append),
        "met": rows - ENTRIES * step.walk + 2 * ENTRIES * step.meet,
        "entered": walked + lines * step.enter + PRODUCTS * (step.walk + step.look_up),
        "inserted": step.sparse_result + walked + lines * step.enter + PRODUCTS * (step.walk + step.insert),
        "arrays": 2 * 64 * 256 * 256 * step.lane,
        "near_lines": walked + lanes + lines * COLUMNS / 8 * step.near_line,
        "far_lines": walked + lanes + lines * COLUMNS / 8 * step.far_line,
        "written": step.call + ARRAY * (step.write + step.lane),
        "fresh": LARGE * (step.fresh_write + step.lane),
        "functions": step.call + ARRAY * (step.function + step.lane + step.write),
        "functions of rows": rows + ENTRIES * step.look_up + MATRIX * step.lone_function,
        "square": SQUARE**3 * step.multiply_add,
        "thin": THIN[0] ** 2 * (THIN[1] * step.multiply_add + step.element) + 2 * THIN[0] * THIN[1] * step.element,
        "stack": STACK * (SMALL**3 * step.multiply_add + step.matrices),
        "converted": ENTRIES * step.convert,
        **{
            f"entered {n}": step.call + ENTERING * DEGREE * (each + step.walk + SHORT * (step.walk + step.look_up))
            for n, each in zip((NEAR_ENTRIES, *FAR_SIZES), (step.enter, *step.far_enters), strict=True)
        },
        **{f"vector {n}": rows + ENTRIES * far for n, far in zip(FAR_SIZES, step.far_look_ups, strict=True)},
        **{f"converted {n}": ENTRIES * far for n, far in zip(FAR_SIZES, step.far_converts, strict=True)},
        **{f"near {size}": 1.0 if size <= step.near else 9.0 for size in sizes(14, 22)},
        **{f"kept {size}": size * (1.0 if size <= step.kept else 9.0) for size in sizes(14, 22)},
    }


def test_steps_are_found_from_kernels() -> None:
    found = fitted(times_of_kernels(MACHINE), ENTRIES, PRODUCTS)
    for field in fields(found):
        assert getattr(found, field.name) == pytest.approx(getattr(MACHINE, field.name), abs=1e-6)


def test_no_step_is_free_where_times_are_noise() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        noise = {name: float(draw.random()) for name in times_of_kernels(MACHINE)}
        found = fitted(noise, ENTRIES, PRODUCTS)
        assert all(np.min(getattr(found, field.name)) > 0 for field in fields(found))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Has kernels take the times of a machine where each step takes twice as long, and a folder to keep that in."""
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path))
    monkeypatch.delenv("MLIR_SPARSE_MACHINE")
    slow = TimedRounds({name: [2 * time] for name, time in times_of_kernels(MACHINE).items()}, 1.0)
    monkeypatch.setattr(tune_machine.Kernels, "of_this_machine", lambda: Kernels({}, ENTRIES, PRODUCTS))
    monkeypatch.setattr(tune_machine.Kernels, "timed", lambda _, rounds: slow)
    machine_profile.cache_clear()
    yield tmp_path
    machine_profile.cache_clear()


def test_plans_go_by_what_was_measured(measured: Path) -> None:
    before = machine_profile()
    found = ms.tune_machine(rounds=1)
    assert found.times.walk == pytest.approx(2 * MACHINE.walk)
    assert machine_profile() == MachineProfile.parse(found.text) != before
    (kept,) = (measured / "machine").iterdir()
    machine_profile.cache_clear()  # as in a later process
    assert machine_profile() == MachineProfile.parse(kept.read_text())
    kept.write_text(kept.read_text()[:-20])
    machine_profile.cache_clear()
    assert machine_profile() == before  # a damaged file counts as none


def test_what_was_measured_while_something_else_ran_is_marked(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = replace(tune_machine.Kernels({}, ENTRIES, PRODUCTS).timed(1), share=0.25)
    monkeypatch.setattr(tune_machine.Kernels, "timed", lambda _, rounds: shared)
    said = "others had 75% of the processor's time"
    with pytest.warns(ms.DisturbedMeasurementWarning, match=f"{said}.*measure again while nothing else runs") as caught:
        ms.tune_machine(rounds=1)
    (kept,) = (measured / "machine").iterdir()
    assert str(kept) in str(caught[0].message)
    assert caught[0].filename == __file__
    machine_profile.cache_clear()  # as in a later process
    assert machine_profile().disturbance == said
    A = ms.tensor(np.eye(2000), "CSR")
    explained = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=np.ones(2000)).explain()
    assert f", measured while something else ran: {said}\n" in explained
    (doctored,) = (one.found for one in examine() if one.name == "machine profile")
    assert said in doctored


def test_nothing_is_measured_that_could_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_machine.Kernels, "of_this_machine", lambda: pytest.fail("it was measured"))
    with pytest.raises(ms.UnsupportedError, match=r"expected a folder to keep what is measured in.*MLIR_SPARSE_CACHE"):
        ms.tune_machine()
    for rounds in (0, -1, 2.0, True, "5"):
        with pytest.raises(ms.UnsupportedError, match="expected a whole number of rounds above 0, but got"):
            ms.tune_machine(rounds=rounds)  # type: ignore[arg-type]


def test_each_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On matrices with an entry a row, whatever it takes: every step is measured by one that there is."""
    made = timed_kernels._matrix
    monkeypatch.setattr(timed_kernels, "_matrix", lambda rows, columns, _, seed: made(rows, columns, 1, seed))
    monkeypatch.setattr(timed_kernels, "LARGE", ARRAY)
    kernels = Kernels.of_this_machine()
    assert kernels.calls.keys() == times_of_kernels(MACHINE).keys()
    found = fitted(kernels.timed(1).medians, kernels.entries, kernels.products)
    assert all(np.min(getattr(found, field.name)) > 0 for field in fields(found))
