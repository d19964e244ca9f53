"""Roles of loops: each that the plan gives has a module that writes it, and no other is taken."""

from __future__ import annotations

import pytest

from mlir_sparse.gpu.loop_roles import nest_writer, role_of
from mlir_sparse.gpu.unmapped_error import UnmappedError


@pytest.mark.parametrize("name", ["rows", "columns", "layers", "lanes", "spread", "serial", "accumulated", "staged"])
def test_loops_of_each_role_are_written(name: str) -> None:
    assert role_of(name) is role_of(name)
    assert nest_writer(name) is None


def test_the_loops_of_a_nest_over_entries_are_written_together() -> None:
    assert nest_writer("entries") is not None


def test_threads_that_exchange_values_stay_together() -> None:
    names = ("rows", "columns", "layers", "lanes", "spread", "serial", "accumulated", "staged")
    assert [name for name in names if role_of(name).shares] == ["lanes", "staged"]
    assert {name: role_of(name).grid for name in names if role_of(name).grid} == {
        "rows": "x",
        "columns": "y",
        "layers": "z",
    }


def test_a_role_that_no_module_writes_is_refused() -> None:
    with pytest.raises(UnmappedError, match=r"expected a role of accumulated, .*, but got diagonal \(in the loops of"):
        role_of("diagonal")
