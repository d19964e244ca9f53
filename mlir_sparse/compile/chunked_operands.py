"""Operands that are cut already, as `dask.array`s are: their statements are computed chunk by chunk where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Semiring
from mlir_sparse.plan.schedule import STATIC

__all__ = ["evaluated_in_chunks", "is_in_chunks", "type_in_chunks"]


def is_in_chunks(value: object) -> bool:
    """Returns whether an operand is a collection of Dask, without importing it."""
    return hasattr(type(value), "__dask_graph__")


def type_in_chunks(name: str, value: Any) -> TensorType:
    """Returns the type of a dask.array's chunks.

    Args:
        name: what stands for it in messages.
        value: a collection of Dask.

    Raises:
        OperandError: for another collection than an array, and for chunks of unknown sizes.
    """
    if not hasattr(value, "chunks") or not hasattr(value, "ndim"):
        raise OperandError(f"expected a dask.array for {name}, but got {type(value).__name__}: compute it before")
    if any(extent != extent for extent in value.shape):
        raise OperandError(
            f"expected chunks of known sizes, but got {name} of shape {value.shape}: call its compute_chunk_sizes() "
            "before"
        )
    return cast(TensorType, import_module("mlir_sparse.dask.array_chunks").type_of_chunks(value))


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
