"""Checks a kernel's result against `evaluate`, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import Assignment, AssignOp, IndexVar
from mlir_sparse.testing.reference.evaluator import evaluate, on_columns, value_of
from mlir_sparse.testing.reference.named_arrays import Array, TooManyValues, combine
from mlir_sparse.testing.reference.read_elements import Block, Mode, Operand, access
from mlir_sparse.testing.reference.reference_entries import evaluate_entries, is_about_entries, missing_of

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The distance of a result from its reference.

    Args:
        error: the largest difference, in units of the expected rounding of its entry: the type's spacing at the sum of
            the terms' absolute values, times one plus the square root of their number.
        allowed: the largest error that counts as rounding.
        entries: the number of values compared, with missing ones.
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
    """Compares a kernel's result with the value computed in NumPy.

    Args:
        assignment: the statement.
        operands: the tensors that it reads.
        extents: the extent of each index variable.
        result: the kernel's result, in the type that it computed in; integers must agree exactly.

    Raises:
        UnsupportedError: if even one value of the target's indices needs too much memory.
    """
    # The result of an operator may be no sum of terms, so its rounding is relative to the values themselves.
    error = _error_of_entries if is_about_entries(assignment) else _error
    pending = [_whole(assignment, operands, extents)]
    worst, entries = 0.0, 0
    while pending:
        block = pending.pop()
        try:
            worst = max(worst, error(assignment, block, result))
        except TooManyValues:
            pending += _halves(block)
            continue
        entries += math.prod(block.within[variable.name] for variable in assignment.target.indices)
    return Comparison(worst, _ALLOWED if _rounding(result.values.dtype)[0] else 0.0, entries)


_ALLOWED = 4.0
# The allowed number of roundings in the result of an operator.
_TERMS = 64


def _whole(assignment: Assignment, operands: Mapping[str, Operand], extents: Mapping[str, int]) -> Block:
    plain = (s.name for s in assignment.target.subscripts if isinstance(s, IndexVar))
    variable = max(plain, key=lambda name: extents[name], default=None)
    return Block(operands, extents, variable, 0, extents[variable] if variable else 0)


def _halves(block: Block) -> list[Block]:
    if block.high - block.low < 2:
        raise UnsupportedError("expected a kernel that NumPy can check within memory, but got a larger one")
    middle = (block.low + block.high) // 2
    # The stack pops the lower half first.
    return [replace(block, low=middle), replace(block, high=middle)]


def _error(assignment: Assignment, block: Block, result: Operand) -> float:
    """Returns the largest difference within a block, in units of rounding."""
    name = assignment.target.tensor
    got = evaluate(
        replace(assignment, op=AssignOp.ASSIGN, value=assignment.target), replace(block, operands={name: result})
    )
    parts = [got, *(evaluate(assignment, replace(block, mode=mode)) for mode in Mode)]
    kind = result.values.dtype
    epsilon, tiny = _rounding(kind)

    def difference(got: Array, expected: Array, scale: Array, terms: Array) -> Array:
        rounded = expected.astype(kind).astype(got.dtype)  # integers wrap, small floats overflow to infinity
        equal = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        unit = epsilon * scale * (1 + np.sqrt(np.abs(terms))) + tiny
        units = np.abs(got - expected) / unit if epsilon else np.inf
        return np.where(equal, 0.0, np.where(np.isnan(units), np.inf, units))

    with np.errstate(all="ignore"):
        return float(combine(difference, parts, block.within).values.max(initial=0.0))


def _error_of_entries(assignment: Assignment, block: Block, result: Operand) -> float:
    """Returns the largest difference of an expression on entries within a block, in units of rounding."""
    kind = result.values.dtype
    expected = evaluate_entries(assignment, block, on_columns, value_of, kind)
    names = tuple(index.name for index in assignment.target.indices)
    found = access(assignment.target, replace(block, operands={assignment.target.tensor: result}))
    missing = expected.dtype.type(0) if result.coordinates is None else missing_of(assignment, kind)
    got = np.full(expected.shape, missing, np.result_type(found.values, expected))
    if found.sparse:
        got[tuple(found.coordinates[:, found.sparse.index(name)] for name in names)] = found.values
    else:
        got[...] = found.values[0]
    epsilon, tiny = _rounding(kind)
    with np.errstate(all="ignore"):
        rounded = expected.astype(kind).astype(got.dtype)
        equal = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        finite = np.abs(expected[np.isfinite(expected)])
        unit = epsilon * (np.max(finite, initial=0.0) + 1) * _TERMS + tiny
        units = np.abs(got - expected) / unit if epsilon else np.full(got.shape, np.inf)
        return float(np.max(np.where(equal, 0.0, np.where(np.isnan(units), np.inf, units)), initial=0.0))


def _rounding(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Returns a type's spacing at 1 and its smallest normal number; zeros for integers."""
    kind = DType.of(dtype)
    return kind.epsilon, 0.0 if kind.is_exact else 2.0 ** (kind.part.quantum + kind.part.precision - 1)
