"""The times of steps: what `scripts/measure-machine` makes of times of kernels, and the table that plans go by."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from measuring_machine.fitted_times import fitted, module_of
from measuring_machine.makes_of_processors import SCATTERS, between_makes
from measuring_machine.timed_kernels import (
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
    sizes,
)

from mlir_sparse.plan.algebra import measured_times
from mlir_sparse.plan.algebra.machine_times import FAR_SIZES, MachineTimes
from mlir_sparse.plan.algebra.measured_times import MACHINE

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
    found = fitted(times_of_kernels(MACHINE), ENTRIES, PRODUCTS, MACHINE.processor)
    for field in fields(found):
        if field.name != "processor":
            assert getattr(found, field.name) == pytest.approx(getattr(MACHINE, field.name), abs=1e-6)


def test_no_step_is_free_where_times_are_noise() -> None:
    found = fitted(dict.fromkeys(times_of_kernels(MACHINE), 1.0), ENTRIES, PRODUCTS, "noise")
    assert all(np.min(getattr(found, field.name)) > -1.0 for field in fields(found) if field.name != "processor")
    assert min(found.walk, found.look_up, found.meet, found.enter, found.append, found.insert) > 0


def test_the_table_is_one_that_the_script_writes() -> None:
    assert Path(measured_times.__file__).read_text() == module_of(MACHINE)
    assert MACHINE.processor


def test_the_table_is_between_those_of_makes_that_differ() -> None:
    """What was measured of one make alone is written over, so that the plans of others stay right."""
    assert module_of(between_makes(replace(MACHINE, scatter=99.0, far_scatters=(99.0,) * 4))) == module_of(MACHINE)
    shares = [MACHINE.scatter / MACHINE.look_up, *np.divide(MACHINE.far_scatters, MACHINE.far_look_ups)]
    for share, of_makes in zip(shares, zip(*SCATTERS.values(), strict=True), strict=True):
        assert min(of_makes) - 0.05 <= share <= max(of_makes) + 0.05


def test_the_table_is_plausible() -> None:
    """What holds on any processor: nothing is free, and what reads further memory or more of it takes longer."""
    assert all(np.min(getattr(MACHINE, field.name)) > 0 for field in fields(MACHINE) if field.name != "processor")
    assert MACHINE.walk < MACHINE.look_up < MACHINE.meet
    assert MACHINE.multiply_add < MACHINE.lane < MACHINE.near_line < MACHINE.far_line
    assert MACHINE.append < MACHINE.insert
    assert sorted(MACHINE.far_look_ups) == list(MACHINE.far_look_ups)
    assert MACHINE.look_up < MACHINE.far_look_ups[0]
    assert sorted(MACHINE.far_scatters) == list(MACHINE.far_scatters)
    pairs = zip((MACHINE.scatter, *MACHINE.far_scatters), (MACHINE.look_up, *MACHINE.far_look_ups), strict=True)
    assert all(scatter >= look_up for scatter, look_up in pairs)
    assert MACHINE.enter < MACHINE.far_enters[0] < MACHINE.far_enters[-1]
    assert MACHINE.convert < MACHINE.far_converts[0] < MACHINE.far_converts[-1]
    assert MACHINE.write < MACHINE.fresh_write
    assert MACHINE.call < MACHINE.sparse_result


def test_times_grow_with_arrays() -> None:
    """Between the sizes that were measured a time is between theirs; beyond the last it is that of the last."""
    sizes_of_arrays = [0.0, 1.0, 1000.0, 65536.0, 1e5, 262144.0, 5e5, 1048576.0, 3e6, 16777216.0, 1e12]
    for time, near, far in (
        (MACHINE.look_up_in, MACHINE.look_up, MACHINE.far_look_ups),
        (MACHINE.scatter_in, MACHINE.scatter, MACHINE.far_scatters),
        (MACHINE.enter_in, MACHINE.enter, MACHINE.far_enters),
        (MACHINE.convert_into, MACHINE.convert, MACHINE.far_converts),
    ):
        found = [time(size) for size in sizes_of_arrays]
        assert found == sorted(found)
        assert found[:4] == [near] * 4
        assert [time(size) for size in FAR_SIZES] == pytest.approx(far)
        assert found[-1] == far[-1]
