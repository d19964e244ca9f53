"""Checks a kernel's result against `evaluate`, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import Assignment, AssignOp, Call, IndexVar, walk
from mlir_sparse.tools.reference.evaluator import Block, Operand, evaluate
from mlir_sparse.tools.reference.relation import Array, Relation, TooManyValues, combine

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far a result is from its reference.

    Args:
        error: the largest difference, in units of what rounding could explain for that entry; 0 where all are equal.
        allowed: the largest error that is taken for rounding.
        entries: how many values were compared, stored or zero.
    """

    error: float
    allowed: float
    entries: int

    @property
    def passed(self) -> bool:
        """Returns whether rounding explains every difference."""
        return self.error <= self.allowed


def compare(
    assignment: Assignment, operands: Mapping[str, Operand], extents: Mapping[str, int], result: Operand
) -> Comparison:
    """Compares a kernel's result with the value NumPy gives.

    Args:
        assignment: what was computed.
        operands: the tensors it was computed from.
        extents: the extent of each index variable.
        result: what the kernel returned, in the type it computed in; integers must agree exactly.

    Raises:
        UnsupportedError: where one value of the target's indices is already too much to hold.
    """
    pending = [_whole(assignment, operands, extents)]
    worst, entries = 0.0, 0
    while pending:
        block = pending.pop()
        try:
            worst = max(worst, _error(assignment, block, result))
        except TooManyValues:
            pending += _halves(block)
            continue
        entries += math.prod(block.within[variable.name] for variable in assignment.target.indices)
    exact = _rounding(result.values.dtype)[0] == 0
    allowed = 0.0 if exact else 8 + 4 * math.sqrt(_terms(assignment, operands, extents))
    return Comparison(worst, allowed, entries)


def _whole(assignment: Assignment, operands: Mapping[str, Operand], extents: Mapping[str, int]) -> Block:
    plain = (s.name for s in assignment.target.subscripts if isinstance(s, IndexVar))
    variable = max(plain, key=lambda name: extents[name], default=None)
    return Block(operands, extents, variable, 0, extents[variable] if variable else 0)


def _halves(block: Block) -> list[Block]:
    if block.high - block.low < 2:
        raise UnsupportedError("expected a kernel that NumPy can check within memory, but got a larger one")
    middle = (block.low + block.high) // 2
    # The stack takes the lower half first.
    return [replace(block, low=middle), replace(block, high=middle)]


def _error(assignment: Assignment, block: Block, result: Operand) -> float:
    """Returns the largest difference within a block, in units of rounding."""
    name = assignment.target.tensor
    got = evaluate(
        replace(assignment, op=AssignOp.ASSIGN, value=assignment.target), replace(block, operands={name: result})
    )
    expected, scale = evaluate(assignment, block), _scale(assignment, block)
    extents, kind = block.within, result.values.dtype
    epsilon, tiny = _rounding(kind)

    def difference(got: Array, expected: Array, scale: Array) -> Array:
        rounded = expected.astype(kind).astype(got.dtype)  # integers wrap, small floats overflow to infinity
        equal = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        with np.errstate(all="ignore"):
            units = np.abs(got - expected) / (epsilon * scale + tiny) if epsilon else np.inf
        return np.where(equal, 0.0, np.where(np.isnan(units), np.inf, units))

    with np.errstate(all="ignore"):
        return float(combine(difference, [got, expected, scale], extents).values.max(initial=0.0))


def _rounding(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Returns a type's spacing at 1 and its smallest normal number; zeros for integers."""
    if dtype.kind in "biu":
        return 0.0, 0.0
    real = np.zeros((), dtype).real.dtype if dtype.kind == "c" else dtype
    limits: Any = ml_dtypes.finfo(real)  # type: ignore[no-untyped-call]  # NumPy's knows no bfloat16
    return float(limits.eps), float(limits.smallest_normal)


def _scale(assignment: Assignment, block: Block) -> Relation:
    """Returns what rounding errors are relative to: the sum of the absolute values of all terms."""
    if any(isinstance(node, Call) for node in walk(assignment.value)):
        value = evaluate(assignment, block)
        return value.map(lambda values: np.maximum(np.abs(values), 1.0) * (values != 0))
    return evaluate(assignment, replace(block, absolute=True))


def _terms(assignment: Assignment, operands: Mapping[str, Operand], extents: Mapping[str, int]) -> int:
    """Bounds how many terms one value of the target sums: what the variables allow, or what is stored."""
    free = {variable.name for variable in assignment.target.indices}
    reduced = math.prod(extents[variable.name] for variable in assignment.indices if variable.name not in free)
    stored = max((operand.values.size for operand in operands.values()), default=1)
    return max(1, min(reduced, stored))
