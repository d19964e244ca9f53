"""Other libraries and ours: each a module that is imported in a process of its own only, but for our own ways.

A module has

    CALLS: from what a kernel is known as to a function from operands to calls: one call that returns a new result, or
        a mapping from IN_PLACE or NEW to one. All have seen their operands before: what a library keeps of them
        (handles, tensors over the same memory) is made before the time is taken, and converting is not allowed but
        where the module's docstring says so.
    plain(result): its results as arrays or SciPy's, for comparison.
    set_threads(number): or None where it runs on one thread whatever is said.
    SINGLE: what runs on one thread all the same; nothing by default.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = [
    "ASIDE",
    "BEFORE",
    "BY_HAND",
    "FORCED",
    "IN_PLACE",
    "LIBRARIES",
    "NEW",
    "OFF",
    "OURS",
    "PROGRAM_PEERS",
    "Call",
    "Calls",
    "Prepare",
    "library",
]

Call = Callable[[], Any]
Calls = Call | Mapping[str, Call]
Prepare = Callable[[Mapping[str, Any]], Calls]

IN_PLACE, NEW = "out=", "new"
OURS = "mlir_sparse"
BEFORE = "before"  # this package as another checkout has it
FORCED = "other profile"  # this package by the profile of a machine that this is not
OFF, BY_HAND = "off", "by hand"  # this package with `optimize="off"`, and in the steps that are best by hand

LIBRARIES: Mapping[str, str] = {
    OURS: "as_optimized",
    BEFORE: "own",
    FORCED: "as_optimized",
    "SciPy": "with_scipy",
    "MKL": "with_mkl",
    "MKL optimized": "with_mkl_optimized",
    "PyTorch": "with_torch",
    "GraphBLAS": "with_graphblas",
    "C": "with_c",
    "numba": "with_numba",
    "NumPy": "with_numpy",
    "another way": "another_way",
    OFF: "as_written",
    BY_HAND: "by_hand",
    "DuckDB": "with_duckdb",
}

# What does not work on the matrix as it is given, or is this package: it is held against a bound of its own.
ASIDE = ("MKL optimized", FORCED, OFF, BY_HAND)

# Who takes part in contests of whole statements.
PROGRAM_PEERS = (OFF, BY_HAND, "SciPy", "PyTorch", "DuckDB")


def library(name: str) -> ModuleType:
    """Imports the module of a library, which needs the library.

    Raises:
        ImportError: where it is not installed.
    """
    return importlib.import_module(f"benchmarks.libraries.{LIBRARIES[name]}")
