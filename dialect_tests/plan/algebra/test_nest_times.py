"""What loop nests take by estimate: no less than nothing, and rows that are met are not taken for scattered ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._search import EntrySet, LoopNest
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import Estimates
from mlir_sparse.plan.algebra.nest_times import NestTimes, steps_of

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


def time_of_chain(fibres: float, entries: float, *, has_workspaces: bool = True) -> float:
    """Returns the time of `O(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)` in one nest, with so many fibres of T."""
    estimates = estimates_of({"i": 1000.0, "j": 400.0, "k": 10_000.0, "r": 16.0, "s": 16.0})
    i, j, k, r, s = (estimates.bit(IndexVar(name)) for name in "ijkrs")
    T = EntrySet(i + j + k, entries, True, {}, {}, (i, j, k), stored=(1000.0, fibres, entries))
    B, C = EntrySet(j + r, 6400.0, False, {}, {}, (j, r)), EntrySet(k + s, 160_000.0, False, {}, {}, (k, s))
    nests = NestTimes(estimates, MACHINE, has_workspaces=has_workspaces)
    return nests.in_loops([T, B, C], i + r + s, array=True).nanoseconds


def test_fibres_are_summed_before_they_are_multiplied() -> None:
    """What all entries of a fibre share is read once a fibre: the longer fibres are, the less time they take."""
    apart = time_of_chain(1e6, 1e6)
    assert time_of_chain(1e4, 1e6) < 0.5 * apart
    assert time_of_chain(1e4, 1e6) < 0.5 * time_of_chain(1e4, 1e6, has_workspaces=False)


@pytest.mark.parametrize("out", ["dense", None])
def test_chains_over_long_fibres_stay_one_nest(out: str | None) -> None:
    """A part of all i, j and s took 15 times as long as the loops, which sum fibres in a workspace."""
    rng = np.random.default_rng(1)
    T = ms.tensor(
        np.where(rng.random((30, 20, 400)) < np.where(rng.random((30, 20, 1)) < 0.1, 0.5, 0.0), 1.0, 0.0), "CSF"
    )
    operands = {"T": T, "B": rng.random((20, 16)), "C": rng.random((400, 16))}
    kernel = ms.compile("O(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)", tensors=operands, out=out)
    assert "by BLAS" not in kernel.explain()
