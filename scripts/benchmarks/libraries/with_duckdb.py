"""DuckDB, a database, for joins and counts: tables of (i, j, v), or (i, v), in its own storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import numpy as np
import scipy.sparse

from benchmarks.libraries import Call, Prepare
from benchmarks.programs import WORKLOADS
from benchmarks.programs.workload import Workload

__all__ = ["CALLS", "plain", "set_threads"]

_database = duckdb.connect()


@dataclass(frozen=True, slots=True)
class _Answer:
    columns: Mapping[str, Any]
    shape: tuple[int, ...]


def set_threads(number: int) -> None:
    _database.execute(f"set threads to {number}")


def plain(result: _Answer) -> Any:
    *places, values = (np.asarray(column) for column in result.columns.values())
    if not places:
        return np.asarray(values[0], float)
    found = np.zeros(result.shape)
    found[tuple(places)] = values
    return found


def _put(name: str, operand: Any) -> None:
    found = operand.tocoo() if scipy.sparse.issparse(operand) else None
    places = np.indices(operand.shape).reshape(operand.ndim, -1) if found is None else found.coords
    columns = dict(zip("ij", places, strict=False)) | {"v": operand.ravel() if found is None else found.data}
    _database.execute("drop table if exists " + name)
    names = ", ".join(columns)
    # Python variables are tables to the database.
    arrays = {key: np.ascontiguousarray(column) for key, column in columns.items()}  # noqa: F841
    _database.execute(f"create table {name} as select {names} from arrays")


def _query(workload: Workload, operands: Mapping[str, Any]) -> Call:
    for name, operand in operands.items():
        _put(name, operand)
    shape = np.shape(workload.scipy(**operands))
    return lambda: _Answer(_database.execute(workload.sql).fetchnumpy(), shape)


CALLS: Mapping[str, Prepare] = {
    name: partial(_query, workload) for name, workload in WORKLOADS.items() if workload.sql is not None
}
