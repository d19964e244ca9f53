"""Plans that a process keeps on disk are those of later processes, which do not load what plans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dialect_tests.conditions import needs_objects

pytestmark = needs_objects

CHAIN = "y(i) = A(i,j) * B(j,k) * x(k)"
LOSS = "s = sum(i, j : (A(i,j) - sum(k : U(i,k) * V(j,k))) ** 2)"
PATHS = "n = A(i,j) * A(j,k) * A(k,l)"
CHILD = """
import json, sys
import numpy as np
import mlir_sparse as ms
from mlir_sparse.runtime import package_sources

package_sources._loaded, package_sources.have_changed = ("these", 0), lambda: False
text, extent, degree, optimize, symmetric = json.loads(sys.argv[1])
rng, dense = np.random.default_rng(0), {}
for name in ms.parse(text).inputs:
    shape = {"x": (extent,), "U": (extent, 8), "V": (extent, 8)}.get(name, (extent, extent))
    values = rng.integers(1, 4, shape) * 1.0
    if name in "AB":
        values *= rng.random(shape) < degree / extent
    dense[name] = np.sign(values + values.T) if symmetric and name in "AB" else values
given = {name: ms.tensor(one, "CSR") if name in "AB" else one for name, one in dense.items()}
kernel = ms.compile(text, **given, optimize=optimize)
found = np.asarray(kernel(**given))
plans = "mlir_sparse.plan.algebra.choose_rewriting" in sys.modules
expected = {
    "y": lambda: dense["A"] @ (dense["B"] @ dense["x"]),
    "s": lambda: ((dense["A"] - dense["U"] @ dense["V"].T) ** 2).sum(),
    "n": lambda: (dense["A"] @ dense["A"] @ dense["A"]).sum(),
}[text[0]]()
assert np.array_equal(found, expected), (found, expected)  # sums of integers
print(json.dumps([plans, str(kernel.spec.rewriting), kernel.explain()]))
"""


def planned(
    folder: Path, text: str, extent: int = 1500, degree: int = 30, optimize: str = "auto", *, symmetric: bool = False
) -> tuple[bool, str, str]:
    """Returns whether a process of its own loaded what plans, the plan that it took, and what it says of it."""
    asked = json.dumps([text, extent, degree, optimize, symmetric])
    environment = {**os.environ, "MLIR_SPARSE_CACHE": str(folder)}
    command = [sys.executable, "-c", CHILD, asked]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: list[Any] = json.loads(run.stdout)
    return found[0], found[1], found[2]


@pytest.mark.parametrize(("text", "symmetric"), [(CHAIN, False), (LOSS, False), (PATHS, False), (PATHS, True)])
def test_later_processes_take_the_plan_without_what_plans(tmp_path: Path, text: str, symmetric: bool) -> None:
    first = planned(tmp_path, text, symmetric=symmetric)
    again = planned(tmp_path, text, symmetric=symmetric)
    assert (first[0], again[0]) == (True, False)
    assert first[1] != "None"
    assert again[1:] == first[1:]


def test_other_data_and_other_rules_have_plans_of_their_own(tmp_path: Path) -> None:
    cases: list[tuple[int, int, str]] = [(1500, 30, "auto"), (40, 2, "auto"), (1500, 30, "algebra")]
    first = [planned(tmp_path, CHAIN, *case) for case in cases]
    assert [loaded for loaded, _, _ in first] == [True] * 3
    again = [planned(tmp_path, CHAIN, *case) for case in cases]
    assert [loaded for loaded, _, _ in again] == [False] * 3
    assert [one[1:] for one in again] == [one[1:] for one in first]
    assert len({plan for _, plan, _ in first}) > 1  # the small one is computed as it is written


def test_matrices_that_are_not_symmetric_are_planned_for(tmp_path: Path) -> None:
    """The plan of symmetric ones is right for those alone."""
    symmetric, other = planned(tmp_path, PATHS, symmetric=True), planned(tmp_path, PATHS)
    assert symmetric[0]
    assert other[0]
    assert symmetric[1] != other[1]


def test_damaged_files_are_no_plans(tmp_path: Path) -> None:
    first = planned(tmp_path, CHAIN)
    (path,) = tmp_path.glob("*.plans")
    whole = path.read_bytes()
    for damaged in (whole[:-7], whole[:60], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        assert planned(tmp_path, CHAIN) == first
    assert planned(tmp_path, CHAIN) == (False, *first[1:])


def test_a_folder_of_nobody_keeps_none(tmp_path: Path) -> None:
    first, again = (planned(Path("off"), CHAIN) for _ in range(2))
    assert first == again
    assert first[0]
    assert not list(tmp_path.iterdir())
