"""Operands that are cut already, as `dask.array`s are: their statements are computed chunk by chunk where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Semiring
from mlir_sparse.plan.schedule import STATIC

__all__ = ["evaluated_in_chunks", "is_in_chunks"]


def is_in_chunks(value: object) -> bool:
    """Returns whether an operand is a collection of Dask, without importing it."""
    return hasattr(type(value), "__dask_graph__")


def evaluated_in_chunks(
    statement: Assignment | Comprehension,
    operands: Mapping[str, Any],
    out: Any,
    semiring: str | Semiring | None,
    options: CompileOptions,
) -> Result:
    """Returns what is computed of operands of which some are in chunks, as `dask.array`s that are not computed yet.

    Raises:
        UnsupportedError: for a GPU, a schedule, and results that are the same for any threads.
    """
    if options.target != "cpu" or options.tuned or options.schedule != STATIC or options.deterministic:
        raise UnsupportedError(
            "expected a statement on dask.arrays without target=, schedule= and deterministic=, but got one: "
            "leave it out, or compute the arrays first"
        )
    evaluate = import_module("mlir_sparse.dask").evaluate
    limits = {"semiring": semiring, "threads": options.threads, "optimize": options.optimize}
    return cast(Result, evaluate(statement, out=out, tensors=operands, **limits))
