"""Sums and products of f16 and bf16: made in f32, and rounded once at the end.

A sum of 1000 terms in f16 is off by hundreds of its last bits, and one in bf16 stands still at 256. So what sums is
computed in f32 throughout, all temporaries included, as NumPy and PyTorch do; its result is rounded by a step after.
"""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Expr, Fold, IndexVar, Reduce, ReduceOp, walk
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Step
from mlir_sparse.program import Conversion

__all__ = ["accumulates", "rounded", "rounding_step"]

# What takes one of its operands as it is does not round.
_CHOOSING = tuple(MONOIDS[name] for name in ("min", "max", "or", "and", "any"))


def accumulates(value: Expr) -> bool:
    """Returns whether an expression combines any number of terms, each step rounded: sums and products do."""
    return any(
        (isinstance(node, Reduce) and node.op in (ReduceOp.SUM, ReduceOp.PRODUCT))
        or (isinstance(node, Fold) and node.monoid not in _CHOOSING)
        for node in walk(value)
    )


def rounding_step(target: Access, wide: str, mode: AccumulateMode, dtype: DType) -> Generic:
    """Returns the step that rounds the elements of an array to those of another.

    Args:
        target: the array to write to, at plain variables.
        wide: the name of the array of the same shape to read.
        mode: whether elements are replaced or added to.
        dtype: the element type of the target.
    """
    variables = tuple(s for s in target.subscripts if isinstance(s, IndexVar))
    return Generic(target, mode, ReduceOp.SUM, variables, (), Access(wide, variables), True, _reason(dtype))


def _reason(dtype: DType) -> str:
    return f"sums of {dtype} are made in {dtype.accumulated_in}, and rounded once"


def rounded(steps: list[Step], target: Access, wide: str, types: dict[str, TensorType], kind: TensorType) -> None:
    """Adds the step that rounds a result made in f32; a conversion that makes it rounds on its way.

    Args:
        steps: those that make the result, in place.
        target: the result at its variables.
        wide: the name of what was made in f32.
        types: the types of the values, in place.
        kind: the type of the result; its shape is that of what was made.
    """
    kind = replace(kind, shape=types[wide].shape)
    types[target.tensor] = kind
    last = steps[-1]
    if kind.encoding is None:
        steps.append(rounding_step(target, wide, AccumulateMode.REPLACE, kind.dtype))
    elif isinstance(last, Conversion) and last.result == wide:
        del types[wide]
        reason = f"{last.reason}; {_reason(kind.dtype)}"
        steps[-1] = replace(last, result=target.tensor, type=kind, reason=reason)
    else:
        steps.append(Conversion(target.tensor, wide, kind, False, _reason(kind.dtype)))
