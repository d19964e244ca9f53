"""Whole statements: what the best plan for them is, by hand, and whether the plan that is chosen is as good.

A `Workload` (`workload.py`) is a statement with its inputs (`drawn.py`), the best plan by hand in steps of this package
(`steps.py`), and the same in SciPy, PyTorch and SQL. The workloads stand in a module for each field; `WORKLOADS` has
them all. They are measured as contests (`match.py`) and reported by `program_rows.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.programs import chains, defined, graphs, joins, tensor_sums, vectors
from benchmarks.programs.workload import Workload

__all__ = ["WORKLOADS", "Workload"]

_FIELDS = (chains, vectors, joins, graphs, tensor_sums, defined)

# By name, each of which begins with the section's.
WORKLOADS: Mapping[str, Workload] = {
    f"programs, {name}": workload for field in _FIELDS for name, workload in field.WORKLOADS.items()
}
