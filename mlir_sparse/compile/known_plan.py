"""A plan that calls keep, as long as their data is like the data that it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_sparse.compile.statement_optimizer import DataSketches
from mlir_sparse.spec import Rewriting
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.symmetric_matrix import is_symmetric, is_symmetric_of_one_value

__all__ = ["KnownPlan"]

# Data with so many times as many entries, or fewer, is planned again.
_OFF = 16


class KnownPlan:
    """A plan of a statement.

    Args:
        rewriting: how the statement is rewritten; None as it is written.
        data: what was known of the operands; None where the plan is kept whatever their sizes.
        names: the names of the operands.
    """

    def __init__(self, rewriting: Rewriting | None, data: DataSketches | None, names: Sequence[str] = ()) -> None:
        self.rewriting = rewriting
        # What the values of some operands must be like.
        self._checks = (
            [
                (names.index(name), is_symmetric_of_one_value if name in rewriting.of_one_value else is_symmetric)
                for name in rewriting.symmetric
            ]
            if rewriting is not None
            else []
        )
        self._has_sizes = data is not None
        entries = [max(int(sketch.entries), 1) for sketch in data.sketches] if data else []
        # The least and the greatest number of entries of each operand; one without entries counts as one with few.
        self.bounds = tuple((number // _OFF + 1 if number >= _OFF else 0, number * _OFF - 1) for number in entries)
        # The operands that were found to fit last; another object in the place of one gets a plan that is right, too.
        self._seen: tuple[int, ...] = ()

    @property
    def looks_at_values(self) -> bool:
        """Returns whether the plan is right for some values only."""
        return bool(self._checks)

    def is_for(self, operands: tuple[Any, ...]) -> bool:
        """Returns whether operands are like those of the plan.

        Each has less than 16 times as many entries, and more than 1/16. Matrices that the plan takes to be symmetric
        are, and have one value where it takes that: values may have been written since the last call.

        Args:
            operands: tensors, arrays and numbers; anything else is none that the plan is for.
        """
        if self._has_sizes and not self._has_similar_sizes(operands):
            return False
        for number, holds in self._checks:
            if type(operands[number]) is not SparseTensor or not holds(operands[number]):
                return False
        return True

    def _has_similar_sizes(self, operands: tuple[Any, ...]) -> bool:
        seen = tuple(map(id, operands))
        if seen == self._seen:
            return True
        if len(seen) != len(self.bounds):
            return False
        for one, (low, high) in zip(operands, self.bounds, strict=True):
            kind = type(one)
            if kind is SparseTensor:
                entries = one.nse
            elif kind is np.ndarray:
                entries = one.size
            elif isinstance(one, np.generic | float | int | complex):
                entries = 1
            else:
                return False
            if not low <= entries <= high:
                return False
        self._seen = seen
        return True
