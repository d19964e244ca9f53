"""What loop nests take by estimate: no less than nothing, and rows that are met are not taken for scattered ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mlir_sparse._search import EntrySet, LoopNest
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import Estimates
from mlir_sparse.plan.algebra.nest_times import steps_of

MACHINE = machine_profile().times


def estimates_of(extents: Mapping[str, float]) -> Estimates:
    return Estimates({IndexVar(name): extent for name, extent in extents.items()})


def sparse(estimates: Estimates, names: str, entries: float) -> EntrySet:
    """Returns a tensor over some variables, with a level of each in their order."""
    order = tuple(estimates.bit(IndexVar(name)) for name in names)
    return EntrySet(sum(order), entries, True, {}, {}, order)


def test_loops_that_leave_few_places_take_no_negative_time() -> None:
    """Rows of the second tensor begin at more places than the loop inside of the outermost leaves of them."""
    estimates = estimates_of({"i": 10.0, "j": 5000.0, "k": 300.0, "l": 5000.0})
    deep, middle = sparse(estimates, "jkl", 8.4e5), sparse(estimates, "jki", 2e4)
    kept = estimates.bits([*map(IndexVar, "ij")])
    nest = LoopNest([deep, middle], kept, estimates, steps_of(MACHINE))
    found = nest.time(1e12)
    assert found is not None
    assert found.nanoseconds > MACHINE.call


@pytest.mark.parametrize(("rows", "meets"), [("ij", False), ("jk", True), ("ik", True)])
def test_rows_are_scattered_around_a_sum_alone(rows: str, meets: bool) -> None:
    """Loops over i, k and j add into row i of the result, whose mask is looked up; those over a sum innermost meet."""
    estimates = estimates_of(dict.fromkeys("ijk", 1000.0))
    kept = estimates.bits([*map(IndexVar, rows)])
    matrices = [sparse(estimates, names, 20_000.0) for names in ("ij", "ik", "kj")]
    loops = LoopNest(matrices, kept, estimates, steps_of(MACHINE)).loops(1e12)
    assert loops is not None
    assert loops[-1].meeting == meets
