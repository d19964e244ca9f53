"""Which operators combine results of chunks: those of native code, and users' monoids, by a function of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Monoid, ReduceOp
from mlir_sparse.notation.entry_functions import COMBINING
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, combining_name

__all__ = ["native_operator", "refused_combination"]

# The operators that can combine results of chunks, by their names in native code.
_COMBINED = {"plus": "sum", "max": "max", "min": "min", "times": "prod", "or": "or", "and": "and"}


@lru_cache(maxsize=256)
def native_operator(combine: ReduceOp | Monoid) -> str | None:
    """Returns the name of the operator that combines results of chunks in native code; None if that has none."""
    if isinstance(combine, ReduceOp):
        if combine is ReduceOp.SUM:
            return "sum"
        if combine not in COMBINING:
            return None
        combine = COMBINING[combine]
    known = (name for name in _COMBINED if replace(combine, lift=None) == replace(MONOIDS[name], lift=None))
    return next((_COMBINED[name] for name in known), None)


def refused_combination(step: Generic, dtype: DType) -> str:
    """Returns why results of chunks cannot be combined; empty if they can.

    Args:
        step: the loop nest; its result is dense.
        dtype: the element type of its result.
    """
    operator = native_operator(step.combine)
    if step.mode is AccumulateMode.REPLACE or (operator is None and not isinstance(step.combine, Monoid)):
        return f"results of chunks are not combined by {combining_name(step.combine)}"
    if isinstance(step.combine, Monoid) and step.combine.takes_last:
        return f"{step.combine.name} takes the last entry, and a chunk may have none"
    combines = not dtype.is_narrow if operator is None else _combines(operator, dtype, step)
    return "" if combines else f"results of chunks in {dtype} are not combined"


def _combines(operator: str, dtype: DType, step: Generic) -> bool:
    """Returns whether native code combines results of an element type as the loops would."""
    if operator in ("or", "and"):
        # What a target had may be neither 0 nor 1.
        return step.mode is AccumulateMode.START and not dtype.is_narrow and not dtype.is_complex
    # A result that is narrower than its sums would be rounded once for each piece.
    if dtype.is_truth or dtype.is_narrow:
        return False
    return operator in ("sum", "prod") or not dtype.is_complex
